import { invalidJson, parseKeepingNumbers, validationError } from "@muster/kit";

/** The entries of a request as they came, before each is checked. */
export type EntryList = {
  values: readonly unknown[];
  /** Writes a part of the entry at `index` as JSON, its numbers as they were sent. */
  textOf(part: unknown, index: number): string;
};

/** In place of a line that is no JSON. */
export const brokenLine = Symbol("a line that is no JSON");

/**
 * The list in the member `name` of a JSON object, or the object that is the list itself where `takesArray`. Throws
 * `invalid_json` and `validation_failed`.
 */
export function listOfJson(text: string, name: string, max: number, takesArray: boolean): EntryList {
  const { value, textOf } = parsed(text);
  const list = takesArray && Array.isArray(value) ? value : memberOf(value, name);
  if (!Array.isArray(list)) throw validationError({ [name]: ["Must be a list"] });
  if (list.length > max) throw tooMany(name, max);
  return { values: list, textOf };
}

/** A value on each line; empty lines do not count. Throws `validation_failed` when there are too many. */
export function listOfLines(text: string, name: string, max: number): EntryList {
  const values: unknown[] = [];
  const writers: ((part: unknown) => string)[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end < 0 ? text.length : end);
    from = end < 0 ? text.length : end + 1;
    if (line.trim() === "") continue;
    if (values.length === max) throw tooMany(name, max);
    const { value, textOf } = lineOf(line);
    values.push(value);
    writers.push(textOf);
  }
  return { values, textOf: (part, index) => (writers[index] ?? JSON.stringify)(part) };
}

const tooMany = (name: string, max: number) => validationError({ [name]: [`At most ${max} entries`] });

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? Reflect.get(value, name) : undefined;
}

function parsed(text: string): ReturnType<typeof parseKeepingNumbers> {
  try {
    return parseKeepingNumbers(text);
  } catch {
    throw invalidJson();
  }
}

function lineOf(line: string): ReturnType<typeof parseKeepingNumbers> {
  try {
    return parseKeepingNumbers(line);
  } catch {
    return { value: brokenLine, textOf: JSON.stringify };
  }
}
