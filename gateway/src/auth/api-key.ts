import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { AppError } from "@muster/kit";

const prefix = "svc_";
const shape = /^svc_[A-Za-z0-9_-]{32}$/;
const randomEnd = 30;

/**
 * SHA-256 (base64) of the key in an X-API-Key header (interface, "API key authentication order", 1-3). Throws AppError
 * `api_key_missing`, `api_key_invalid_format`, and `api_key_invalid` on a checksum that does not fit, as for an unknown key.
 */
export function keyDigestOf(header: string): string {
  if (header === "") throw new AppError("api_key_missing", "API key is missing");
  if (!header.startsWith(prefix)) throw new AppError("api_key_invalid_format", "API key has an invalid format");
  if (!shape.test(header) || checksum(header.slice(prefix.length, randomEnd)) !== header.slice(randomEnd)) {
    throw new AppError("api_key_invalid", "API key is invalid");
  }
  return hash("sha256", header, "base64");
}

/** The last 6 characters of a key: CRC-32 of the 26 before them, big-endian, as base64url. */
function checksum(random: string): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32(random));
  return bytes.toString("base64url");
}
