import {
  type FieldErrors,
  hasFields,
  isTimezone,
  longerThan,
  nameError,
  textError,
  validationError,
} from "@muster/kit";

/** Bytes of a free-form object as JSON. */
export const maxObjectBytes = 64 * 1024;
const maxDepth = 32;
// The unreserved characters of RFC 3986, beginning with a letter or digit: never "." or "..".
const slugPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Collects one text per bad field; `done` throws `validation_failed` when there is any. */
export type Checks = {
  text(field: string, value: string, max: number): string;
  name(field: string, value: string): string;
  slug(field: string, value: string): string;
  oneOf<T extends string>(field: string, value: string, allowed: readonly [T, ...T[]]): T;
  /** A cap: 0 or more, null when absent. */
  cap(field: string, value: number | undefined): number | null;
  timezone(field: string, value: string): string;
  /** A JSON object that travelled as text; empty text is `{}`. */
  object(field: string, json: string): JsonObject;
  /** At most 32 labels, names of 1 to 63 characters, values of at most 255. */
  labels(field: string, labels: Record<string, string>): Record<string, string>;
  fail(field: string, text: string): void;
  done(): void;
};

/** The text of a search, at most 255 characters. Throws `validation_failed`. */
export function searchOf(text: string): string {
  const check = checks();
  check.text("search", text, 255);
  check.done();
  return text;
}

const labelsMax = 32;

/** New checks for the fields of one request. */
export function checks(): Checks {
  const errors: FieldErrors = {};
  const fail = (field: string, text: string) => {
    errors[field] ??= [text];
  };
  const text = (field: string, value: string, max: number) => {
    const problem = textError(value);
    if (problem) fail(field, problem);
    else if (longerThan(value, max)) fail(field, `At most ${max} characters`);
    return value;
  };
  return {
    fail,
    text,
    name(field, value) {
      const error = nameError(value);
      if (error) fail(field, error);
      return value;
    },
    slug(field, value) {
      if (!slugPattern.test(value) || value.length > 100) {
        fail(field, "1 to 100 letters, digits and - . _ ~, beginning with a letter or digit");
      }
      return value;
    },
    oneOf(field, value, allowed) {
      const found = allowed.find((item) => item === value);
      if (found === undefined) fail(field, `One of ${allowed.join(", ")}`);
      return found ?? allowed[0];
    },
    cap(field, value) {
      if ((value ?? 0) < 0) fail(field, "0 or more");
      return value ?? null;
    },
    timezone(field, value) {
      if (value.length > 50 || !isTimezone(value)) fail(field, "An IANA timezone identifier");
      return value;
    },
    labels(field, labels) {
      if (Object.keys(labels).length > labelsMax) fail(field, `At most ${labelsMax}`);
      for (const [name, value] of Object.entries(labels)) {
        if (name === "" || longerThan(name, 63)) fail(field, "Names of 1 to 63 characters");
        text(field, value, 255);
      }
      return labels;
    },
    object(field, json) {
      const value = parseObject(json);
      if (typeof value !== "string") return value;
      fail(field, value);
      return {};
    },
    done() {
      if (Object.keys(errors).length > 0) throw validationError(errors);
    },
  };
}

/** Bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function parseObject(json: string): JsonObject | string {
  if (json === "") return {};
  if (Buffer.byteLength(json) > maxObjectBytes) return `At most ${maxObjectBytes} bytes of JSON`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return "Not JSON";
  }
  if (!hasFields(value)) return "Must be an object";
  return valueProblem(value, 1) ?? value;
}

/** Why PostgreSQL could not keep a value, or why we would not. */
function valueProblem(value: unknown, depth: number): string | null {
  if (typeof value === "string") return textError(value);
  if (typeof value !== "object" || value === null) return null;
  if (depth > maxDepth) return `Nested deeper than ${maxDepth} levels`;
  for (const [key, item] of Object.entries(value)) {
    if (key === "__proto__") return "A key is not allowed";
    const problem = textError(key) ?? valueProblem(item, depth + 1);
    if (problem) return problem;
  }
  return null;
}
