import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** What every API key begins with (docs/behaviour.md#api-keys). */
export const apiKeyPrefix = "svc_";

const shape = /^svc_([A-Za-z0-9_-]{26})([A-Za-z0-9_-]{6})$/;

const randomLength = 26;

/**
 * A new key: `svc_`, 26 random base64url characters (156 bits), and the 6 that are the CRC-32 of those, so that a
 * scanner recognizes keys (docs/api-keys.md).
 */
export function newApiKeyText(): string {
  const random = randomBytes(20).toString("base64url").slice(0, randomLength);
  return `${apiKeyPrefix}${random}${checksum(random)}`;
}

/** Whether a text has the form and the checksum of a key; not whether such a key exists. */
export function looksLikeApiKey(text: string): boolean {
  const [, random = "", sum] = shape.exec(text) ?? [];
  return checksum(random) === sum;
}

/** CRC-32, big-endian, as base64url. */
function checksum(random: string): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32(random));
  return bytes.toString("base64url");
}
