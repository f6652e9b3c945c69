import { isUtf8 } from "node:buffer";

const strict = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder("utf-8");
const replacement = "\ufffd";
const replacementBytes = Buffer.from(replacement);

/** Stands for an invalid byte until its text is decoded: ASCII's own character for that. */
const substitute = 0x1a;
const substituteText = "\x1a";

/** The text of bytes, U+FFFD in place of invalid UTF-8, and how many of these were put there. */
export function utf8Text(bytes: Uint8Array): { text: string; replaced: number } {
  try {
    return { text: strict.decode(bytes), replaced: 0 };
  } catch {
    const text = lenient.decode(bytes);
    return {
      text,
      replaced:
        text.split(replacement).length - 1 - sent(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    };
  }
}

/** U+FFFD that the sender wrote. */
function sent(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(replacementBytes); at >= 0; at = bytes.indexOf(replacementBytes, at + 3)) count++;
  return count;
}

/**
 * Makes bytes valid UTF-8 in place, at the same length, for a decoder that refuses any other; returns the number of
 * bytes that were replaced. `mendedText` shows them as U+FFFD.
 */
export function mendUtf8(bytes: Uint8Array): number {
  if (isUtf8(bytes)) return 0;
  let replaced = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOf(bytes[at] ?? 0);
    if (length === 1 || (length > 1 && isUtf8(bytes.subarray(at, at + length)))) {
      at += length;
    } else {
      bytes[at] = substitute;
      replaced++;
      at++;
    }
  }
  return replaced;
}

/** The text of bytes that were mended. */
export const mendedText = (text: string): string => text.replaceAll(substituteText, replacement);

/** Bytes of the character that begins with this one; 0 when none does (RFC 3629, section 4). */
function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}
