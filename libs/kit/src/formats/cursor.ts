import { validationError } from "../errors/app-error.ts";
import { isUuid } from "./uuid.ts";

/** What a cursor holds at one place, and how its text is read; undefined is no value of that kind. */
const readers = {
  uuid: (text: string) => (isUuid(text) ? text : undefined),
  text: (text: string) => (text.length <= maxTextLength && !text.includes("\0") ? text : undefined),
  time: timeOf,
  count: (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  flag: (text: string) => (text === "true" ? true : text === "false" ? false : undefined),
};

/** Longer than the longest text that a list is ordered by. */
const maxTextLength = 1_024;

export type CursorPart = keyof typeof readers;
type ValueOf<K extends CursorPart> = Exclude<ReturnType<(typeof readers)[K]>, undefined>;
type ValuesOf<K extends readonly CursorPart[]> = { -readonly [I in keyof K]: ValueOf<K[I]> };

/** An opaque list position: the sort key of the last row shown, as base64url JSON. */
export function encodeCursor(parts: readonly (string | number | boolean | Date)[]): string {
  const texts = parts.map((part) => (part instanceof Date ? part.toISOString() : String(part)));
  return Buffer.from(JSON.stringify(texts)).toString("base64url");
}

/**
 * Reads a cursor that encodeCursor made of values of these kinds. Anything else, also what a laxer reader would
 * understand, is a 400 on `cursor`: what passes here is taken by PostgreSQL.
 */
export function decodeCursor<const K extends readonly CursorPart[]>(cursor: string, kinds: K): ValuesOf<K> {
  const texts = textsOf(cursor);
  const values = kinds.map((kind, at) => readers[kind](texts[at] ?? ""));
  if (texts.length !== kinds.length || values.includes(undefined)) throw foreignCursor();
  return values as ValuesOf<K>;
}

/** The refusal of a cursor that is none of the list that it was given to. */
export const foreignCursor = () => validationError({ cursor: ["Not a cursor of this list"] });

function textsOf(cursor: string): string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts.every((part) => typeof part === "string")) return parts;
  } catch {
    // Not JSON: answered like every other malformed cursor.
  }
  throw foreignCursor();
}

/** Exactly what toISOString writes: Date.parse also takes "5", "2026" and 30 February. */
function timeOf(text: string): Date | undefined {
  if (!/^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return undefined;
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text ? time : undefined;
}
