import { createHmac, hkdfSync } from "node:crypto";

/** Hashes of a user code, under the newest key first: that one is stored, all are looked up. */
export type UserCodeHashes = (code: string) => readonly [Buffer, ...Buffer[]];

/**
 * HMAC-SHA-256 of user codes under a key derived from each encryption key: a code has 34 bits, which a plain hash
 * would not hide. `keys` is `id:base64[,…]`.
 */
export function userCodeHashes(keys: string): UserCodeHashes {
  const ring = keys.split(",").map((entry) => {
    const material = Buffer.from(entry.trim().split(":")[1] ?? "", "base64");
    return Buffer.from(hkdfSync("sha256", material, "", "muster/secret/user-code", 32));
  });
  const hash = (key: Buffer, code: string) => createHmac("sha256", key).update(code).digest();
  const [newest = Buffer.alloc(0), ...others] = ring;
  return (code) => [hash(newest, code), ...others.map((key) => hash(key, code))];
}
