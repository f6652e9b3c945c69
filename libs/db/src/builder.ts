import knex, { type Knex } from "knex";
import { type Query, sqlWith } from "./client/statement.ts";

/**
 * Builds statements only: it has no connection, so awaiting a builder fails; hand it to `query` or `execute`. A
 * separate entry point, since knex is 324 files: a process that writes its statements as `sql` does not load them.
 */
export const qb: Knex = knex({ client: "pg" });

/** A chain of conditions on the rows of a list. */
export type Rows = Knex.QueryBuilder;

const beforeConditions = "select * where ";

/**
 * The conditions of a chain, to splice into `sql`; `true` without any. Only what is given stands in the text, so that
 * each combination has a plan of its own, over its own index.
 */
export function conditions(chain: (rows: Rows) => Rows): Query {
  const { sql: text, bindings } = chain(qb.queryBuilder()).toSQL().toNative();
  if (text === "select *") return sqlWith("true", []);
  if (!text.startsWith(beforeConditions)) throw new Error(`a chain of more than conditions: ${text}`);
  return sqlWith(`(${text.slice(beforeConditions.length)})`, bindings);
}

/** The columns of which a value is given: neither null nor an empty text, which do not filter. */
export function nonEmpty<T>(values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== ""));
}

/** For `modify`: the column holds one of these texts; an empty list does not filter. */
export const anyOf = (rows: Rows, column: string, texts: readonly string[]): void => {
  if (texts.length === 1) rows.where(column, texts[0]);
  else if (texts.length > 1) rows.whereRaw("?? = ANY (?::text[])", [column, [...texts]]);
};

/** For `modify`: the column is at or after a time; null does not filter. */
export const since = (rows: Rows, column: string, time: Date | null): void => {
  if (time) rows.where(column, ">=", time);
};

/** For `modify`: the column is at or before a time; null does not filter. */
export const until = (rows: Rows, column: string, time: Date | null): void => {
  if (time) rows.where(column, "<=", time);
};

/** For `modify`: the column is before a time; null does not filter. */
export const before = (rows: Rows, column: string, time: Date | null): void => {
  if (time) rows.where(column, "<", time);
};

/** For `modify`: the column contains a text whatever its case; an empty one does not filter. */
export const containing = (rows: Rows, column: string, text: string): void => {
  if (text !== "") rows.where(column, "ilike", `%${text.replace(/[\\%_]/g, "\\$&")}%`);
};

/** For `modify`: an expression's text holds a part, whatever its case; an empty one does not filter. */
export const named = (rows: Rows, expression: string, part: string): void => {
  if (part !== "") rows.whereRaw(`position(lower(?) IN lower(${expression})) > 0`, [part]);
};
