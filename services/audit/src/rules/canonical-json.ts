/**
 * RFC 8785 text of a JSON value: keys by UTF-16 code units, numbers and strings as ECMAScript writes them. Throws on
 * numbers that JSON has not. Our own, because it is half the price of sealing a row (npm run bench -- audit-seal); the
 * tests hold it against the `canonicalize` package.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return jsonText(value);
    case "number":
      if (!Number.isFinite(value)) throw new Error("a number has no JSON");
      return String(value === 0 ? 0 : value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? arrayText(value) : objectText(value as Record<string, unknown>);
    default:
      throw new Error("a value has no JSON");
  }
}

function arrayText(items: readonly unknown[]): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) text += i === 0 ? canonicalJson(items[i]) : `,${canonicalJson(items[i])}`;
  return `${text}]`;
}

function objectText(object: Record<string, unknown>): string {
  let text = "{";
  for (const key of inOrder(Object.keys(object))) {
    if (text.length > 1) text += ",";
    text += `${jsonText(key)}:${canonicalJson(object[key])}`;
  }
  return `${text}}`;
}

// Array.sort makes work space larger than the row's own text; objects of audited facts have few keys, mostly in order.
const surelyFew = 16;

/** Keys by UTF-16 code units, sorted in place. */
function inOrder(keys: string[]): string[] {
  if (keys.length > surelyFew) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && key < (keys[at - 1] as string); at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

/** The characters that JSON escapes: quotes, backslashes, control characters, and surrogates (lone ones). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/;

/** JSON of a text or null: a third of JSON.stringify's price where nothing is to be escaped, as nearly always. */
export function jsonText(value: string | null): string {
  return typeof value === "string" && !escaped.test(value) ? `"${value}"` : JSON.stringify(value);
}
