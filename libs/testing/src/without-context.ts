import type { Database } from "@muster/db";
import type { Caller } from "@muster/kit";
import pg from "pg";
import { type TestDatabase, testDatabase } from "./database.ts";
import { foreignTextProblems } from "./foreign-text.ts";

export type TableWithoutContext = {
  table: string;
  /** Existing rows, as the owner counts them. A partition may have none; its parent counts instead. */
  stored: number;
  /** Rows that the application can read, change or remove without a caller. */
  seen: number;
  changed: number;
};

/** Rows of the tables that every service has, for tests in which no table may be empty. */
export async function fillCommonTables(database: TestDatabase, hasTenants: boolean): Promise<void> {
  const id = "00000000-0000-7000-8000-000000000001";
  await asOwner(database, async (owner) => {
    await owner.query(`
      INSERT INTO outbox (subject, msg_id, body) VALUES ('x.y', 'x/y', 'x');
      INSERT INTO job (id, kind) VALUES ('${id}', 'test');
      INSERT INTO dead_letter (id, subject, msg_id, reason, body, body_bytes, attempts)
        VALUES ('${id}', 'x.y', 'x/y', 'a test', 'x', 1, 1);
      INSERT INTO idempotency (caller, rpc, key, request_sha256, reply)
        VALUES ('${id}', 'x/y', 'key', sha256('x'), 'y')`);
    if (!hasTenants) return;
    await owner.query(`
      INSERT INTO tenant (kind, id, partner_id, version, status, deleted, updated_at)
      VALUES ('partner', '${id}', '${id}', 1, 'active', false, now())`);
  });
}

/**
 * The database as another caller sees it, or without a caller, whichever caller the store sets: the policies alone
 * decide.
 */
export function databaseAs(db: Database, caller: Caller | null): Database {
  return {
    ...db,
    tx: (_who, fn, options) => db.tx({ caller }, fn, options),
    read: (_who, statement) => db.read({ caller }, statement),
    readAll: (_who, statements) => db.readAll({ caller }, statements),
  };
}

/** Every table of the service's schema, new ones included, as a transaction without any caller finds it. */
export async function tablesWithoutContext(database: TestDatabase): Promise<TableWithoutContext[]> {
  const { db } = database;
  return asOwner(database, async (owner) => {
    const { rows: tables } = await owner.query<{ name: string; is_partition: boolean; a_column: string }>(`
      SELECT c.relname AS name, c.relispartition AS is_partition, a.attname AS a_column
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_migrations'
      ORDER BY c.relname`);
    const found: TableWithoutContext[] = [];
    for (const { name, is_partition: isPartition, a_column: column } of tables) {
      const table = pg.escapeIdentifier(name);
      const own = pg.escapeIdentifier(column);
      const run = (text: string) => refusedAsNothing(db.tx({ caller: null }, (tx) => tx.execute({ text, values: [] })));
      const { rows } = await owner.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
      const removed = await run(`DELETE FROM ${table}`);
      found.push({
        table: isPartition ? `${name} (partition)` : name,
        stored: Number(rows[0]?.n),
        seen: await run(`SELECT FROM ${table}`),
        // Identity columns cannot be set: they are compared instead, which locks as much.
        changed: removed + (await run(`SELECT ${own} FROM ${table} FOR UPDATE`)),
      });
    }
    return found;
  });
}

const commonTables = ["outbox", "job", "dead_letter", "tenant"];

/**
 * `contextProblems` of a service's new database, in which `rows` puts a row into each of the service's tables; also
 * reports each common table that was not found.
 */
export async function schemaProblems(
  { service, dirs }: Parameters<typeof testDatabase>[0],
  rows: string,
): Promise<string[]> {
  const database = await testDatabase({ service, dirs });
  try {
    await fillCommonTables(database, true);
    await asOwner(database, (owner) => owner.query(rows));
    const tables = await tablesWithoutContext(database);
    const texts = await foreignTextProblems(database);
    const missing = commonTables.filter((name) => !tables.some(({ table }) => table === name));
    return [...missing.map((name) => `${name} was not found`), ...contextProblems(tables), ...texts];
  } finally {
    await database.drop();
  }
}

/** Sentences about tables that show something without a context, or that the test has left empty. */
export function contextProblems(tables: readonly TableWithoutContext[]): string[] {
  return tables.flatMap(({ table, stored, seen, changed }) => {
    if (stored === 0 && !table.endsWith("(partition)")) return [`${table} has no row in this test: add one`];
    return seen + changed > 0 ? [`${table} shows ${seen} rows and lets ${changed} be changed without a context`] : [];
  });
}

/** PostgreSQL's insufficient_privilege. */
const insufficientPrivilege = "42501";

async function refusedAsNothing(counted: Promise<number>): Promise<number> {
  try {
    return await counted;
  } catch (error) {
    if ((error as { code?: string }).code === insufficientPrivilege) return 0;
    throw error;
  }
}

/** A connection as the owner of the tables, to whom row-level security does not apply. */
export async function asOwner<T>({ ownerUrl }: TestDatabase, use: (owner: pg.Client) => Promise<T>): Promise<T> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    return await use(owner);
  } finally {
    await owner.end();
  }
}
