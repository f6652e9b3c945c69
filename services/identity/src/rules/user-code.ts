import { randomInt } from "node:crypto";

/** Letters without vowels and without look-alikes (RFC 8628, section 6.1). */
const alphabet = "BCDFGHJKLMNPQRSTVWXZ";
const letters = 8;

/** A new code for a person to type: 34 random bits. */
export const newUserCode = (): string =>
  Array.from({ length: letters }, () => alphabet[randomInt(alphabet.length)]).join("");

/** The code that was meant, whatever its case and separators; null for a text that is none. */
export function readUserCode(typed: string): string | null {
  const code = typed.replace(/[\s\p{Pd}]/gu, "").toUpperCase();
  return code.length === letters && [...code].every((letter) => alphabet.includes(letter)) ? code : null;
}

/** As it is shown: `WDJB-MJHT`. */
export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;
