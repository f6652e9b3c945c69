import { sealedBytes } from "./secret-box.ts";

export type SecretStrength = "weak" | "strong";

const prefix = "whsec_";
const maxLength = 512;
const keyBytes = { min: 24, max: 64 };
const strongLength = 16;
const printableAscii = /^[\x20-\x7e]*$/;
/** RFC 4648, 4, with its padding: libraries of Standard Webhooks refuse other forms. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Why no receiver could verify signatures made with this secret, in words; null when one can. After `whsec_` stands the
 * key in base64, 24 to 64 bytes (Standard Webhooks); any other text is the key itself.
 */
export function signingSecretError(secret: string): string | null {
  if (secret.length > maxLength || !printableAscii.test(secret))
    return `At most ${maxLength} printable ASCII characters`;
  if (!secret.startsWith(prefix)) return null;
  const key = secret.slice(prefix.length);
  const bytes = base64.test(key) ? Buffer.from(key, "base64").length : 0;
  if (bytes >= keyBytes.min && bytes <= keyBytes.max) return null;
  return `After ${prefix}: base64 of ${keyBytes.min} to ${keyBytes.max} bytes`;
}

/** `weak` below 16 characters. Read from the sealed secret's length, since its text is opened for signing alone. */
export const strengthOfSealed = (sealed: Buffer): SecretStrength =>
  sealedBytes(sealed) < strongLength ? "weak" : "strong";
