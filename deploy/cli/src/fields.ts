import type { Fields } from "@muster/client/fields";
import { wrongUsage } from "./failure.ts";
import { nearest } from "./suggest.ts";
import { filterOf } from "./times.ts";

export type JsonObject = { [name: string]: unknown };

const shape = /^([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)(\[\]=|:=|=)(.*)$/s;

/**
 * The body that arguments spell: `name=text`, `count:=5` (any JSON), `scopes[]=text` (once per item),
 * `contact.email=text` (nested). Throws a Failure for anything else.
 */
export function bodyOf(args: readonly string[], start: JsonObject = {}): JsonObject {
  const body: JsonObject = { ...start };
  for (const arg of args) {
    const [, path = "", sign, text = ""] = shape.exec(arg) ?? [];
    if (!sign) throw wrongUsage(`"${arg}" is not name=text, name:=json or name[]=text`);
    const names = path.split(".");
    const last = names.pop() ?? "";
    const target = names.reduce((object, name) => nested(object, name, arg), body);
    if (sign === "=") target[last] = text;
    else if (sign === ":=") target[last] = jsonOf(text, arg);
    else target[last] = [...listOf(target, last), text];
  }
  return body;
}

function nested(object: JsonObject, name: string, arg: string): JsonObject {
  if (!Object.hasOwn(object, name)) object[name] = {};
  const inner = object[name];
  if (!isObject(inner)) throw wrongUsage(`"${arg}": ${name} is not an object`);
  return inner;
}

/** Whether a parsed value is an object: no list, not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function listOf(target: JsonObject, name: string): unknown[] {
  const list = Object.hasOwn(target, name) ? target[name] : [];
  return Array.isArray(list) ? list : [];
}

/**
 * Throws a Failure that names the first field of a body which its operation does not have: the API ignores it, and a
 * record without what was meant would be made.
 */
export function checkFields(body: unknown, fields: Fields | null, path: readonly string[] = []): void {
  if (fields === null || typeof body !== "object" || body === null) return;
  if (Array.isArray(body)) {
    for (const item of body) checkFields(item, fields, path);
    return;
  }
  for (const [name, value] of Object.entries(body)) {
    if (!Object.hasOwn(fields, name)) throw unknownField([...path, name].join("."), name, Object.keys(fields));
    checkFields(value, fields[name] ?? null, [...path, name]);
  }
}

function unknownField(path: string, name: string, fields: readonly string[]) {
  const near = nearest(name, fields);
  const offer = fields.length > 0 ? `Known: ${fields.join(", ")}` : "It takes none";
  return wrongUsage(`no field "${path}"${near ? `; did you mean "${near}"?` : ""}\n${offer}`);
}

export function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrongUsage(`"${where}" is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** An id that was typed; throws a Failure for an empty one, as a variable without a value leaves it. */
export function idOf(text: string): string {
  if (text.trim() === "") throw wrongUsage("the id is empty: a variable without a value?");
  return text;
}

/** Arguments of `get`: at most one id, and filters `name=value` that the resource knows. */
export function idAndFilters(args: readonly string[], fields: readonly string[]) {
  const filters: Record<string, string> = {};
  let id: string | null = null;
  for (const arg of args) {
    const at = arg.indexOf("=");
    if (at < 0) {
      if (id !== null) throw wrongUsage(`one id at a time: "${id}" and "${arg}"`);
      id = idOf(arg);
      continue;
    }
    const name = arg.slice(0, at);
    if (!fields.includes(name)) {
      const offer = fields.length > 0 ? `known are ${fields.join(", ")}` : "it has none";
      throw wrongUsage(`no filter "${name}": ${offer}`);
    }
    if (Object.hasOwn(filters, name)) throw wrongUsage(`filter "${name}" twice: only one of them would count`);
    filters[name] = filterOf(name, arg.slice(at + 1), new Date());
  }
  return { id, filters };
}
