import { describe, expect, it } from "@jest/globals";
import { secretBox } from "./secret-box.ts";
import { signingSecretError, strengthOfSealed } from "./signing-secret.ts";

const encoded = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
const noKey = "After whsec_: base64 of 24 to 64 bytes";
const noText = "At most 512 printable ASCII characters";

describe("a signing secret", () => {
  it.each([
    ["a key of 24 bytes", encoded(24), null],
    ["a key of 64 bytes", encoded(64), null],
    ["a key of 23 bytes", encoded(23), noKey],
    ["a key of 65 bytes", encoded(65), noKey],
    ["the prefix alone", "whsec_", noKey],
    ["no base64", "whsec_this is not base64 at all, certainly", noKey],
    ["base64 of URLs", `whsec_${"-_".repeat(20)}`, noKey],
    ["base64 without padding", encoded(25).replace(/=+$/, ""), noKey],
    ["another prefix", "secret_1", null],
    ["one character", "x", null],
    ["512 characters", "x".repeat(512), null],
    ["513 characters", "x".repeat(513), noText],
    ["a line break", "a\nb", noText],
    ["a tab", "a\tb", noText],
    ["a space", "a b", null],
    ["an umlaut", "schlüssel", noText],
  ])("with %s has the error that a receiver would meet", (_what, secret, error) => {
    expect(signingSecretError(secret)).toBe(error);
  });

  it.each([
    ["x", "weak"],
    ["x".repeat(15), "weak"],
    ["x".repeat(16), "strong"],
    [encoded(24), "strong"],
  ])("%s is %s, as its sealed form tells under a key id of any length", (secret, strength) => {
    for (const id of ["a", "a-longer-key-id"]) {
      const box = secretBox(`${id}:${Buffer.alloc(32, 1).toString("base64")}`, "webhook");
      expect(strengthOfSealed(box.seal(Buffer.from(secret), "webhooks.secret"))).toBe(strength);
    }
  });
});
