/** In Unicode mode only an unpaired half matches. */
const loneSurrogate = /\p{Surrogate}/u;
/** A pair of escapes, one escape, or any escaped character. */
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\./gs;
const unstorable = /^\\u(?:0000|[dD][89a-fA-F][\da-fA-F]{2})$/;

/**
 * Why a text that identifies something is refused, or null: PostgreSQL keeps no U+0000, and UTF-8 no half of a
 * surrogate pair. Once replaced, two such texts could be the same.
 */
export function textError(text: string): string | null {
  if (text.includes("\0")) return "Must not contain NUL characters";
  return loneSurrogate.test(text) ? "Must be well-formed Unicode" : null;
}

/** A text as it can be stored: U+FFFD in place of NUL and of each half of a surrogate pair. */
export function storableText(text: string): string {
  // Node 20 has toWellFormed.
  const whole = (text as string & { toWellFormed(): string }).toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\ufffd") : whole;
}

/** JSON text whose strings and keys can be stored, by the rule of `storableText`; everything else as it was. */
export function storableJson(json: string): string {
  const text = storableText(json);
  if (!text.includes("\\u")) return text;
  return text.replaceAll(escapes, (found) => (unstorable.test(found) ? "\\ufffd" : found));
}
