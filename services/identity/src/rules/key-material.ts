import { createHash } from "node:crypto";
import { newApiKeyText } from "@muster/kit";

export type KeyMaterial = { key: string; prefix: string; digest: Buffer };

/** Characters of a key that are stored and shown. */
export const prefixLength = 12;

/** A new API key; stored as its SHA-256. */
export function newApiKey(): KeyMaterial {
  const key = newApiKeyText();
  return { key, prefix: key.slice(0, prefixLength), digest: keyDigest(key) };
}

/** What a key is looked up by: no secret is ever compared as a string. */
export function keyDigest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
