import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export type SecretBox = {
  /** Id of the key that seals. */
  keyId: string;
  /**
   * AES-256-GCM under the first key's derivation for this purpose; `location` (table, row, column) is authenticated
   * with it.
   */
  seal(plain: Buffer, location: string): Buffer;
  /**
   * Throws when the key is unknown, or the envelope was altered, moved to another location or made for another purpose.
   */
  open(envelope: Buffer, location: string): Buffer;
  /** Whether the envelope is already what `seal` would make now: of the newest form, under the first key. */
  isCurrent(envelope: Buffer): boolean;
};

/**
 * Whether bytes are an envelope at all, where a column holds also what needs no sealing: no protobuf message begins
 * like one.
 */
export const isSealed = (bytes: Buffer): boolean => bytes[0] === bareKey || bytes[0] === derivedKey;

/** Envelope forms: 1 used the key itself, 2 uses a key derived from it for one purpose. Both open, 2 is made. */
const bareKey = 1;
const derivedKey = 2;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Secrets at rest. Envelope: form (1 byte) ‖ key id length (1) ‖ key id ‖ nonce (12) ‖ tag (16) ‖ ciphertext. `keys` is
 * `id:base64[,…]`, 32 bytes each: the first seals, all open. `purpose` (`session`, `webhook`, …) goes into HKDF-SHA-256
 * (RFC 5869), so that what one part of the product stores opens in no other.
 */
export function secretBox(keys: string, purpose: string): SecretBox {
  const keyring = keys.split(",").map((entry) => {
    const [id = "", material = ""] = entry.trim().split(":");
    const key = Buffer.from(material, "base64");
    if (id === "" || id.length > 64 || key.length !== 32) {
      throw new Error("SECRET_ENCRYPTION_KEY: each entry is id:base64 of 32 bytes");
    }
    const derived = Buffer.from(hkdfSync("sha256", key, "", `muster/secret/${purpose}`, 32));
    return { id, bare: key, derived };
  });
  const [first] = keyring;
  if (!first) throw new Error("SECRET_ENCRYPTION_KEY: at least one key is needed");
  return {
    keyId: first.id,
    seal(plain, location) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", first.derived, nonce);
      cipher.setAAD(Buffer.from(location));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      const id = Buffer.from(first.id);
      return Buffer.concat([Buffer.from([derivedKey, id.length]), id, nonce, cipher.getAuthTag(), body]);
    },
    open(envelope, location) {
      const { form, id, rest } = parts(envelope);
      const entry = keyring.find((k) => k.id === id);
      if ((form !== bareKey && form !== derivedKey) || !entry) {
        throw new Error(`secret in ${location} is sealed under an unknown key`);
      }
      const key = form === bareKey ? entry.bare : entry.derived;
      const decipher = createDecipheriv("aes-256-gcm", key, rest.subarray(0, nonceBytes));
      decipher.setAAD(Buffer.from(location));
      decipher.setAuthTag(rest.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(rest.subarray(nonceBytes + tagBytes)), decipher.final()]);
    },
    isCurrent(envelope) {
      const { form, id } = parts(envelope);
      return form === derivedKey && id === first.id;
    },
  };
}

/** Length of what an envelope holds; nothing is opened. */
export const sealedBytes = (envelope: Buffer): number => parts(envelope).rest.length - nonceBytes - tagBytes;

function parts(envelope: Buffer): { form: number; id: string; rest: Buffer } {
  const idLength = envelope[1] ?? 0;
  return {
    form: envelope[0] ?? 0,
    id: envelope.toString("utf8", 2, 2 + idLength),
    rest: envelope.subarray(2 + idLength),
  };
}
