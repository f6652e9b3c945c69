import { describe, expect, it } from "@jest/globals";
import { passwords } from "./passwords.ts";

const options = { logN: 10, queueMax: 100 };

describe("passwords", () => {
  it("verifies the right password and no other", async () => {
    const store = passwords(options);
    const hash = await store.hash("correct horse battery");
    expect(hash).toMatch(/^scrypt\$10\$8\$1\$/);
    expect(await store.verify("correct horse battery", hash)).toBe(true);
    expect(await store.verify("correct horse batterz", hash)).toBe(false);
  });

  it("accepts two encodings of the same characters as the same password", async () => {
    const store = passwords(options);
    expect(await store.verify("caf\u00e9", await store.hash("cafe\u0301"))).toBe(true);
  });

  it("refuses an unknown account after a real derivation", async () => {
    expect(await passwords(options).verify("anything", null)).toBe(false);
  });

  it("verifies hashes of older parameters and reports them as stale", async () => {
    const older = await passwords({ ...options, logN: 10 }).hash("pw");
    const today = passwords({ ...options, logN: 11 });
    expect(await today.verify("pw", older)).toBe(true);
    expect(today.isStale(older)).toBe(true);
    expect(today.isStale(await today.hash("pw"))).toBe(false);
  });

  it("requests the hash only when it starts, and derives nothing when that request is refused", async () => {
    const store = passwords({ logN: 10, queueMax: 10, concurrency: 1 });
    const hash = await store.hash("right");
    let [asking, most] = [0, 0];
    const ask = async () => {
      most = Math.max(most, ++asking);
      await new Promise(setImmediate);
      asking -= 1;
      return hash;
    };
    const all = ["right", "wrong", "right"].map((password) => store.verify(password, ask));
    expect(await Promise.all(all)).toEqual([true, false, true]);
    expect(most).toBe(1);
    const refused = new Error("refused");
    await expect(store.verify("right", () => Promise.reject(refused))).rejects.toBe(refused);
    expect(await store.verify("right", ask)).toBe(true);
  });

  it("refuses with overloaded when the queue is full, and continues", async () => {
    const store = passwords({ logN: 10, queueMax: 1, concurrency: 1 });
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => store.verify("x", null)));
    expect(all.filter((r) => r.status === "rejected").map((r) => (r as PromiseRejectedResult).reason.code)).toEqual([
      "overloaded",
      "overloaded",
    ]);
    expect(await store.verify("x", null)).toBe(false);
  });
});
