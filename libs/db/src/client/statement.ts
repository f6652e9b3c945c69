import { storableJson, storableText } from "@muster/kit";
import type { Knex } from "knex";

/** Text with `$1` placeholders and its values. */
export type Query = { text: string; values: readonly unknown[] };

/** What `query` and `execute` take: text with values (see `sql`) or a knex builder. */
// biome-ignore lint/suspicious/noExplicitAny: knex's own default for records that are not described
export type Statement = Query | Knex.QueryBuilder<any, any> | Knex.Raw<any>;

// The source of each sql`…`, so that one can be spliced into another with its parameters renumbered.
const sources = new WeakMap<object, { strings: TemplateStringsArray; inserts: readonly unknown[] }>();

/** Texts of templates without splices: all statements of one template share one string, whose hash V8 keeps. */
const texts = new WeakMap<TemplateStringsArray, string>();

/**
 * A statement from a template: each `${value}` becomes a parameter, a nested sql`…` is spliced in as text. Texts, and
 * JSON that is cast where it is inserted, are stored without what PostgreSQL refuses (`storableText`), wherever they
 * came from.
 */
export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): Query {
  const inserts = storableInserts(strings, values);
  const query = inserts.some(isSpliced) ? spliced(strings, inserts) : { text: textOf(strings), values: inserts };
  sources.set(query, { strings, inserts });
  return query;
}

/** The inserts themselves, unless one has to be changed. */
function storableInserts(strings: TemplateStringsArray, values: readonly unknown[]): readonly unknown[] {
  let changed: unknown[] | null = null;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== "string" && !Array.isArray(value)) continue;
    const stored = storable(value, isJson.test(strings[index + 1] ?? ""));
    if (stored === value) continue;
    changed ??= [...values];
    changed[index] = stored;
  }
  return changed ?? values;
}

const isJson = /^\s*::json/;

function storable(value: unknown, isJsonText: boolean): unknown {
  if (!isUnstorable(value, isJsonText)) return value;
  if (Array.isArray(value)) return value.map((item) => storable(item, isJsonText));
  return isJsonText ? storableJson(value) : storableText(value);
}

/** The encoder of the connection replaces halves of surrogate pairs in plain text; in JSON they are escapes. */
function isUnstorable(value: unknown, isJsonText: boolean): value is string | unknown[] {
  if (typeof value === "string") return value.includes("\0") || (isJsonText && value.includes("\\u"));
  return Array.isArray(value) && value.some((item) => isUnstorable(item, isJsonText));
}

function isSpliced(insert: unknown): insert is Query | undefined {
  return insert === undefined || (typeof insert === "object" && insert !== null && sources.has(insert));
}

function textOf(strings: TemplateStringsArray): string {
  let text = texts.get(strings);
  if (text === undefined) {
    text = strings.reduce((before, after, index) => `${before}$${index}${after}`);
    texts.set(strings, text);
  }
  return text;
}

/** Texts of templates into which only statements without values were spliced; those are mostly constants. */
const splicedTexts = new WeakMap<TemplateStringsArray, { parts: readonly unknown[]; text: string }>();

function spliced(strings: TemplateStringsArray, inserts: readonly unknown[]): Query {
  const cached = splicedTexts.get(strings);
  if (cached && inserts.every((insert, index) => partOf(insert) === cached.parts[index])) {
    return { text: cached.text, values: inserts.filter((_, index) => cached.parts[index] === null) };
  }
  const values: unknown[] = [];
  const text = splice(strings, inserts, values);
  const parts = inserts.map(partOf);
  if (!parts.includes(undefined)) splicedTexts.set(strings, { parts, text });
  return { text, values };
}

/** The insert itself for a statement without values; null for a value; undefined when the text differs each time. */
function partOf(insert: unknown): unknown {
  if (!isSpliced(insert)) return null;
  return insert?.values.length === 0 ? insert : undefined;
}

/** A text with `$1` to `$n` in this order, and their values, as a statement to splice in. */
export function sqlWith(text: string, values: readonly unknown[]): Query {
  const strings = text.split(/\$\d+/);
  return sql(Object.assign(strings, { raw: strings }), ...values);
}

/** The name of a table or a column that is chosen while a service runs, as a statement to splice in. */
export function sqlName(name: string): Query {
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) throw new Error(`no table or column is named ${name}`);
  return sqlWith(name, []);
}

function splice(strings: TemplateStringsArray, inserts: readonly unknown[], values: unknown[]): string {
  let text = strings[0] ?? "";
  inserts.forEach((insert, index) => {
    const source = typeof insert === "object" && insert !== null ? sources.get(insert) : undefined;
    if (source) text += splice(source.strings, source.inserts, values);
    else if (insert === undefined) throw new TypeError(`undefined inserted after: ${text.slice(-60)}`);
    else text += `$${values.push(insert)}`;
    text += strings[index + 1];
  });
  return text;
}

/** The statement as pg takes it. */
export function toQuery(statement: Statement): Query {
  if ("text" in statement) return { text: statement.text, values: statement.values };
  const { sql: text, bindings } = statement.toSQL().toNative();
  return { text, values: bindings.map((value) => storable(value, false)) };
}
