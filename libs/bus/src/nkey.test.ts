import { describe, expect, it } from "@jest/globals";
import { nkeys } from "nats";
import { generateNkey } from "./nkey.ts";

describe("a generated NKey", () => {
  it("is a user of the client library: its public key follows from its seed, and verifies what the seed signs", () => {
    const message = new TextEncoder().encode("nonce");
    for (let n = 0; n < 20; n++) {
      const { seed, publicKey } = generateNkey();
      const pair = nkeys.fromSeed(new TextEncoder().encode(seed));
      expect(pair.getPublicKey()).toBe(publicKey);
      expect(publicKey).toMatch(/^U[A-Z2-7]{55}$/);
      expect(nkeys.fromPublic(publicKey).verify(message, pair.sign(message))).toBe(true);
    }
  });

  it("is another one each time", () => {
    expect(generateNkey().seed).not.toBe(generateNkey().seed);
  });
});
