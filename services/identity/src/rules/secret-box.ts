import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export type SecretBox = {
  /** AES-256-GCM under the first key; `place` (table, row, column) is authenticated with it. */
  seal(plain: Buffer, place: string): Buffer;
  /** Throws when the key is unknown, or the envelope was altered or moved to another place. */
  open(envelope: Buffer, place: string): Buffer;
};

/**
 * Secrets at rest. Envelope: version 1 (1 byte) ‖ key id length (1) ‖ key id ‖ nonce (12) ‖ tag (16) ‖ ciphertext.
 * `keys` is `id:base64[,…]`, 32 bytes each: the first seals, all open.
 */
export function secretBox(keys: string): SecretBox {
  const ring = keys.split(",").map((entry) => {
    const [id = "", material = ""] = entry.trim().split(":");
    const key = Buffer.from(material, "base64");
    if (id === "" || id.length > 64 || key.length !== 32) {
      throw new Error("SECRET_ENCRYPTION_KEY: each entry is id:base64 of 32 bytes");
    }
    return { id, key };
  });
  const [first] = ring;
  if (!first) throw new Error("SECRET_ENCRYPTION_KEY: at least one key is needed");
  return {
    seal(plain, place) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", first.key, nonce);
      cipher.setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      const id = Buffer.from(first.id);
      return Buffer.concat([Buffer.from([1, id.length]), id, nonce, cipher.getAuthTag(), body]);
    },
    open(envelope, place) {
      const idLength = envelope[1] ?? 0;
      const id = envelope.toString("utf8", 2, 2 + idLength);
      const entry = ring.find((k) => k.id === id);
      if (envelope[0] !== 1 || !entry) throw new Error(`secret in ${place} is sealed under an unknown key`);
      const rest = envelope.subarray(2 + idLength);
      const decipher = createDecipheriv("aes-256-gcm", entry.key, rest.subarray(0, 12));
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(rest.subarray(12, 28));
      return Buffer.concat([decipher.update(rest.subarray(28)), decipher.final()]);
    },
  };
}
