import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

export type KeyMaterial = { key: string; prefix: string; digest: Buffer };

/** Characters of a key that are stored and shown. */
export const prefixLength = 12;
const randomLength = 26;

/**
 * A new API key: `svc_`, 26 random base64url characters (156 bits), and the 6 that are the CRC-32 of those, so that a scanner
 * can tell a key from any other text (docs/api-keys.md). Stored as its SHA-256.
 */
export function newApiKey(): KeyMaterial {
  const random = randomBytes(20).toString("base64url").slice(0, randomLength);
  const key = `svc_${random}${checksum(random)}`;
  return { key, prefix: key.slice(0, prefixLength), digest: keyDigest(key) };
}

/** What a key is looked up by: no secret is ever compared as a string. */
export function keyDigest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

/** Whether a text has the form and the checksum of a key; says nothing of whether there is one. */
export function looksLikeApiKey(text: string): boolean {
  const match = /^svc_([A-Za-z0-9_-]{26})([A-Za-z0-9_-]{6})$/.exec(text);
  return match !== null && checksum(match[1] as string) === match[2];
}

function checksum(random: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(random));
  return bytes.toString("base64url");
}
