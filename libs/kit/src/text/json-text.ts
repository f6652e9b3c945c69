import { validationError } from "../errors/app-error.ts";

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The text of a member of a JSON object, exactly as it was written, without the space around it; null when the object
 * has no such member. Of a repeated name the last member counts, as for JSON.parse. `json` must be the text of an
 * object, which JSON.parse accepts. Throws AppError `validation_failed` when any value, repeated members included, is
 * nested deeper than `maxDepth` levels, the object itself being the first.
 */
export function memberText(json: string, name: string, maxDepth = Number.POSITIVE_INFINITY): string | null {
  let found: string | null = null;
  let at = afterSpace(json, afterSpace(json, 0) + 1);
  while (json.charCodeAt(at) !== closeBrace) {
    const nameEnd = endOfString(json, at);
    const from = afterSpace(json, afterSpace(json, nameEnd) + 1);
    const end = endOfValue(json, from, maxDepth - 1);
    if (isName(json.slice(at, nameEnd), name)) found = json.slice(from, end);
    at = afterSpace(json, end);
    if (json.charCodeAt(at) === comma) at = afterSpace(json, at + 1);
  }
  return found;
}

/** A name may be written with escapes. */
const isName = (text: string, name: string) =>
  text === `"${name}"` || (text.includes("\\") && JSON.parse(text) === name);

/** Position of the next character that is no space. */
export function afterSpace(json: string, from: number): number {
  let at = from;
  for (let code = json.charCodeAt(at); code === 0x20 || (code >= 0x09 && code <= 0x0d); ) code = json.charCodeAt(++at);
  return at;
}

/** Position behind the string that begins at `from`. */
export function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  throw new Error("a JSON string without an end");
}

/** Position behind the value that begins at `from`. */
function endOfValue(json: string, from: number, maxDepth: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfString(json, at) - 1;
    else if (code === openBrace || code === openBracket) {
      if (++depth > maxDepth) throw validationError({}, [`Nested deeper than ${maxDepth + 1} levels`]);
    } else if (code === closeBrace || code === closeBracket) {
      // The end of what holds a number or a word.
      if (depth === 0) return at;
      depth--;
    } else if (depth > 0 || (code !== comma && code > 0x20)) continue;
    else return at;
    if (depth === 0) return at + 1;
  }
  throw new Error("a JSON value without an end");
}
