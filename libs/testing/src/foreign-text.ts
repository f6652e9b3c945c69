import { type Statement, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import pg from "pg";
import type { TestDatabase } from "./database.ts";

/** Texts that a client may send and PostgreSQL refuses. */
export const foreignTexts = ["a\0b", "\0", "a\ud83d", "\ude00a", "\ude00\ud83d"] as const;

/** How a value of each type that holds text is inserted. A column of another type has to be added here. */
const inserted: Readonly<Record<string, (text: string) => Statement>> = {
  text: (text) => sql`SELECT ${text}::text AS stored`,
  varchar: (text) => sql`SELECT ${text}::varchar AS stored`,
  _text: (text) => sql`SELECT ${[text, "b"]}::text[] AS stored`,
  _varchar: (text) => sql`SELECT ${[text, "b"]}::varchar[] AS stored`,
  jsonb: (text) => sql`SELECT ${JSON.stringify({ [text]: [text] })}::jsonb AS stored`,
  _jsonb: (text) => sql`SELECT ${[JSON.stringify({ [text]: [text] }), "{}"]}::jsonb[] AS stored`,
};
/** Types that hold no text of their own. */
const withoutText =
  /^_?(?:u?int\d|float\d|numeric|bool|bytea|uuid|timestamptz?|date|time|interval|oid|xid8?|inet|cidr|tsvector|name|int8range|tstzrange)$/;

/**
 * Sentences about columns of the service's schema, new ones included, whose type does not take a client's text as the
 * store inserts it: NUL and halves of surrogate pairs arrive as U+FFFD, and nothing fails.
 */
export async function foreignTextProblems({ db, ownerUrl }: TestDatabase): Promise<string[]> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    const { rows: columns } = await owner.query<{ column: string; type: string }>(`
      SELECT c.relname || '.' || a.attname AS column, coalesce(b.typname, t.typname) AS type
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'schema_migrations'
      ORDER BY 1`);
    if (columns.length === 0) return ["no column was found"];
    const problems: string[] = [];
    const checked = new Map<string, string | null>();
    for (const { column, type } of columns) {
      if (withoutText.test(type)) continue;
      if (!checked.has(type)) checked.set(type, await problemOf(db, type));
      const problem = checked.get(type);
      if (problem) problems.push(`${column}: ${problem}`);
    }
    return problems;
  } finally {
    await owner.end();
  }
}

async function problemOf(db: TestDatabase["db"], type: string): Promise<string | null> {
  const insert = inserted[type];
  if (insert === undefined) return `no statement is listed that inserts text into ${type}`;
  for (const text of foreignTexts) {
    try {
      const [row] = await db.read<{ stored: unknown }>({ caller: systemCaller("test") }, insert(text));
      const stored = JSON.stringify(row?.stored);
      if (!stored.includes("\ufffd")) return `${JSON.stringify(text)} is stored as ${stored}`;
    } catch (error) {
      return `${JSON.stringify(text)} is refused: ${String(error)}`;
    }
  }
  return null;
}
