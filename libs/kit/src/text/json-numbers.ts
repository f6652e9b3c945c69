import { afterSpace, endOfString } from "./json-text.ts";
import { withoutTrailing } from "./trailing.ts";

/** Most numbers that are reported of one text. */
const mostReported = 20;
/** Nearly every text has no such number: fifteen digits are always kept, and so is what is neither huge nor tiny. */
const suspicious = /[[:,](?!")\s*-?(?:\d[\d.]{15}|[\d.]+[eE][+-]?\d{3})/;
const numberText = /-?\d[\d.eE+-]*/y;

/** A number that JSON.parse changes; `path` is the reader's own, and changes when it reads on. */
type Changed = { text: string; from: number; path: readonly (string | number)[] };

/**
 * Dotted paths of the numbers that JSON.parse changes in these members of a JSON object, 20 at most: those with more
 * digits than a double keeps, and those beyond its range. 1.0 and 1e2 are kept: another writing of the same number is
 * no change. `json` must be a text that JSON.parse accepts; what a repeated name hides counts, too.
 */
export function changedNumbers(json: string, members: readonly string[]): string[] {
  const found: string[] = [];
  for (const { path } of changesIn(json)) {
    if (members.includes(String(path[0])) && found.push(path.join(".")) === mostReported) break;
  }
  return found;
}

/** A noncharacter: begins the texts that stand for numbers while their JSON is parsed. */
const mark = "\uFDD0";
const markText = /\uFDD0|\\uFDD0/i;
const marked = /"\uFDD0(-?[\d.]+)"/g;
/** What any decimal type of a database takes. */
const plainNumber = /^-?[\d.]{1,100}$/;

/**
 * JSON.parse of a text, and `textOf`, which writes a part of that value as JSON with its long numbers as they were
 * sent; those with an exponent or more than 100 characters are the nearest double. Throws SyntaxError as JSON.parse.
 */
export function parseKeepingNumbers(json: string): { value: unknown; textOf(part: unknown): string } {
  const value: unknown = JSON.parse(json);
  const changed = [...changesIn(json)].filter(({ text }) => plainNumber.test(text));
  if (changed.length === 0 || markText.test(json)) return { value, textOf: JSON.stringify };
  const pieces: string[] = [];
  let end = 0;
  for (const { text, from } of changed) {
    pieces.push(json.slice(end, from), `"${mark}${text}"`);
    end = from + text.length;
  }
  pieces.push(json.slice(end));
  return { value: JSON.parse(pieces.join("")), textOf: (part) => JSON.stringify(part).replaceAll(marked, "$1") };
}

function* changesIn(json: string): Generator<Changed> {
  if (!suspicious.test(json)) return;
  /** The key or index at which each open object or list is read. */
  const path: (string | number)[] = [];
  for (let at = 0; at < json.length; ) {
    const next = json[at] ?? "";
    if (next === '"') {
      const end = endOfString(json, at);
      if (json[afterSpace(json, end)] === ":") path[path.length - 1] = String(JSON.parse(json.slice(at, end)));
      at = end;
    } else if (next === "-" || (next >= "0" && next <= "9")) {
      numberText.lastIndex = at;
      const [text = ""] = numberText.exec(json) ?? [];
      if (!isKept(text)) yield { text, from: at, path };
      at += text.length || 1;
    } else {
      step(path, next);
      at++;
    }
  }
}

/** Enters or leaves an object or list, or reads on in a list. */
function step(path: (string | number)[], next: string): void {
  const last = path.at(-1);
  if (next === "{") path.push("");
  else if (next === "[") path.push(0);
  else if (next === "}" || next === "]") path.pop();
  else if (next === "," && typeof last === "number") path[path.length - 1] = last + 1;
}

function isKept(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && decimalOf(String(value)) === decimalOf(text);
}

/** The digits of a number without zeros around them, and its exponent; the same for two writings of one number. */
function decimalOf(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = withoutTrailing(digits, "0");
  if (significant === "") return "0";
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
