import { randomBytes } from "node:crypto";
import { tokenHash } from "./opaque-token.ts";

const codes = 10;
/** Crockford's base 32, without letters that resemble digits. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Ten single-use codes of 80 random bits, `XXXX-XXXX-XXXX-XXXX`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: codes }, () => {
    const letters = [...randomBytes(16)].map((byte) => alphabet[byte % 32]).join("");
    return (letters.match(/.{4}/g) ?? []).join("-");
  });
}

/** SHA-256 of a code as people type it: case, spaces and hyphens do not matter. */
export function recoveryCodeHash(code: string): Buffer {
  return tokenHash(code.toUpperCase().replace(/[^0-9A-Z]/g, ""));
}
