import { type FieldErrors, longerThan, textError } from "@muster/kit";

/** Characters of a message, and of the JSON text of `fields` and `details`. */
export const maxMessageLength = 65_536;
export const maxObjectLength = 65_536;

/** Nesting of `fields` and `details`. */
export const maxObjectDepth = 32;

// What both JavaScript and PostgreSQL can hold; a clock that is wrong by centuries is still stored as it is.
const earliestMs = Date.UTC(1601, 0, 1);
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** Already as it is stored: most agents send it so. */
const plainTime = /^(?:1[6-9]|[2-9]\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** RFC 3339, whose letters may be lower-case, and offsets of ISO 8601, which may lack the colon. */
const anyTime = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:[Zz]|([+-]\d\d):?(\d\d))$/;

/** Reads one field after the other of one entry, and notes its errors. */
export class FieldReader {
  /** Of the entry being read, by field; null when there is none. */
  errors: FieldErrors | null = null;
  /** Writes a part of the request as JSON, its numbers as they were sent. */
  readonly #textOf: (part: unknown) => string;

  constructor(textOf: (part: unknown) => string) {
    this.#textOf = textOf;
  }

  /** Notes what is wrong with a field; returns a value to go on with. */
  note(field: string, problem: string): string {
    this.errors ??= {};
    this.errors[field] = [problem];
    return "";
  }

  time(field: string, value: unknown): string {
    if (typeof value !== "string") return this.note(field, "Required");
    // Already as it is stored. The 31st of February is parsed as the 3rd of March, and must not reach PostgreSQL.
    const isPlain = plainTime.test(value) && Number(value.slice(8, 10)) <= 28;
    const ms = isPlain ? Date.parse(value) : millisecondsOf(value);
    if (Number.isNaN(ms)) return this.note(field, "Must be an ISO 8601 time");
    if (ms < earliestMs || ms > latestMs) return this.note(field, "Must be between the years 1601 and 9999");
    return isPlain ? value : new Date(ms).toISOString();
  }

  oneOf(field: string, value: unknown, allowed: readonly string[]): string {
    const found = allowed.find((each) => each === value);
    return found ?? this.note(field, `Must be one of ${allowed.join(", ")}`);
  }

  text(field: string, value: unknown, min: number, max: number): string {
    if (typeof value !== "string" || value.length < min) return this.note(field, "Required");
    const problem = textError(value);
    if (problem !== null) return this.note(field, problem);
    return longerThan(value, max) ? this.note(field, `At most ${max} characters`) : value;
  }

  /** Empty counts as absent. */
  optional(field: string, value: unknown, max: number): string | null {
    if (value === undefined || value === null || value === "") return null;
    return this.text(field, value, 1, max);
  }

  object(field: string, value: unknown): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value !== "object" || Array.isArray(value)) return this.note(field, "Must be an object");
    const problem = valueProblem(value, 1);
    if (problem !== null) return this.note(field, problem);
    const json = this.#textOf(value);
    if (json.length > maxObjectLength) return this.note(field, `At most ${maxObjectLength} characters of JSON`);
    // JSON's escape of U+0000, and halves of surrogate pairs, which jsonb does not accept.
    const bad = json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
    return bad ? this.note(field, "Must be well-formed Unicode without NUL") : json;
  }
}

function millisecondsOf(text: string): number {
  const [, date, time, hours, minutes] = anyTime.exec(text) ?? [];
  return Date.parse(`${date}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
}

/** JSON permits 1e400, which is parsed as Infinity and written as null; deep nesting overflows its writer's stack. */
function valueProblem(value: unknown, depth: number): string | null {
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : "Numbers must be between -1.8e308 and 1.8e308";
  }
  if (typeof value !== "object" || value === null) return null;
  if (depth > maxObjectDepth) return `Nested deeper than ${maxObjectDepth} levels`;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const problem = valueProblem(inner, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}
