import { hash } from "node:crypto";
import { AppError, apiKeyPrefix, looksLikeApiKey } from "@muster/kit";

/**
 * SHA-256 (base64) of the key in an X-API-Key header (docs/behaviour.md#api-keys). Throws AppError `api_key_missing`,
 * `api_key_invalid_format`, and `api_key_invalid` on a checksum that does not fit, as for an unknown key.
 */
export function keyDigestOf(header: string): string {
  if (header === "") throw new AppError("api_key_missing", "API key is missing");
  if (!header.startsWith(apiKeyPrefix)) throw new AppError("api_key_invalid_format", "API key has an invalid format");
  if (!looksLikeApiKey(header)) throw new AppError("api_key_invalid", "API key is invalid");
  return hash("sha256", header, "base64");
}
