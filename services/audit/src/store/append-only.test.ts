import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, uuidv7 } from "@muster/kit";
import type { TestDatabase } from "@muster/testing";
import pg from "pg";
import { sealMessages } from "../events/sealer.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";

// Every role that a process holds × every statement that would change what was sealed: refused, as a system caller.

const partitions = Array.from({ length: 16 }, (_, n) => `audit_log_${String(n).padStart(2, "0")}`);
const tables = ["audit_log", ...partitions];

type Attempt = { what: string; text: string };

const attempts: Attempt[] = [
  ...tables.flatMap((table) => [
    { what: `UPDATE ${table}`, text: `UPDATE ${table} SET action = 'x'` },
    { what: `TRUNCATE ${table}`, text: `TRUNCATE ${table}` },
    { what: `DROP ${table}`, text: `DROP TABLE ${table}` },
    { what: `ALTER ${table} DISABLE TRIGGER`, text: `ALTER TABLE ${table} DISABLE TRIGGER ALL` },
    { what: `ALTER ${table} ADD COLUMN`, text: `ALTER TABLE ${table} ADD COLUMN x int` },
    { what: `ALTER ${table} NO RLS`, text: `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY` },
    {
      what: `INSERT .. ON CONFLICT UPDATE ${table}`,
      text: `INSERT INTO ${table} SELECT * FROM ${table} ON CONFLICT (chain_id, seq) DO UPDATE SET action = 'x'`,
    },
    { what: `SELECT FOR UPDATE ${table}`, text: `SELECT * FROM ${table} FOR UPDATE` },
  ]),
  { what: "DELETE audit_log", text: "DELETE FROM audit_log" },
  ...partitions.map((table) => ({ what: `DELETE ${table}`, text: `DELETE FROM ${table}` })),
  ...partitions.map((table) => ({
    what: `INSERT ${table}`,
    text: `INSERT INTO ${table} SELECT * FROM ${table} LIMIT 1`,
  })),
  ...partitions.map((table) => ({ what: `DETACH ${table}`, text: `ALTER TABLE audit_log DETACH PARTITION ${table}` })),
  { what: "session_replication_role", text: "SET session_replication_role = replica" },
  { what: "DROP FUNCTION refuse_change", text: "DROP FUNCTION refuse_change CASCADE" },
  {
    what: "REPLACE FUNCTION refuse_change",
    text: "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'",
  },
  { what: "SET ROLE owner", text: "SET ROLE muster_audit_owner" },
  { what: "GRANT", text: "GRANT UPDATE ON audit_log TO PUBLIC; UPDATE audit_log SET action = 'x'" },
  { what: "DELETE chain_head", text: "DELETE FROM chain_head" },
  { what: "TRUNCATE chain_head", text: "TRUNCATE chain_head" },
  { what: "move the base", text: "UPDATE chain_head SET base_seq = 1, base_checksum = 'x'" },
  { what: "UPDATE checkpoint", text: "UPDATE checkpoint SET note = 'x'" },
  { what: "TRUNCATE checkpoint", text: "TRUNCATE checkpoint" },
  { what: "UPDATE anchor", text: "UPDATE anchor SET note = 'x'" },
  { what: "DELETE anchor", text: "DELETE FROM anchor" },
  { what: "UPDATE prune_receipts", text: "UPDATE prune_receipts SET note = 'x'" },
  { what: "DELETE prune_receipts", text: "DELETE FROM prune_receipts" },
  { what: "TRUNCATE prune_receipts", text: "TRUNCATE prune_receipts" },
];

/** Roles of processes. The pruner may DELETE, but only what a receipt covers: the trigger refuses the rest. */
const roles = ["muster_audit_app", "muster_audit_pruner"];

let database: TestDatabase;
const clients = new Map<string, pg.Client>();
beforeAll(async () => {
  database = await auditDatabase();
  const log = createLogger("audit-test", "fatal");
  const deps = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 };
  // A row in every partition: a statement that touches none would be refused by nothing.
  await sealMessages(
    deps,
    Array.from({ length: 200 }, () => auditMessage({ orgId: uuidv7(), partnerId: uuidv7() })),
  );
  for (const role of roles) {
    const url = new URL(database.appUrl);
    url.username = role;
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    clients.set(role, client);
  }
});
afterAll(async () => {
  for (const client of clients.values()) await client.end();
  await database?.drop();
});

async function asSuperuser(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

async function refusal(role: string, text: string): Promise<string | null> {
  const client = clients.get(role) as pg.Client;
  await client.query("BEGIN");
  try {
    await client.query("SELECT set_config('app.scope', 'system', true)");
    await client.query(text);
    return null;
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error);
  } finally {
    await client.query("ROLLBACK");
  }
}

describe.each(roles.map((role) => [role]))("%s", (role) => {
  it("has rows to test with in every partition", async () => {
    const { rows } = await asSuperuser("SELECT DISTINCT tableoid FROM audit.audit_log");
    expect(rows).toHaveLength(16);
  });

  // 42501 insufficient_privilege; the pruner's DELETE meets the trigger, which has the same code.
  it.each(attempts.map(({ what, text }) => [what, text]))("is refused: %s", async (_what, text) => {
    expect(await refusal(role, text)).toBe("42501");
  });
});

it("covers every role that may log in to the schema", async () => {
  const { rows } = await asSuperuser(
    `SELECT rolname FROM pg_roles WHERE rolname LIKE 'muster_audit_%' AND rolcanlogin AND rolname <> 'muster_audit_owner'`,
  );
  expect(rows.map(({ rolname }) => rolname).sort()).toEqual([...roles].sort());
});

it.each(tables)("even the owner is refused while triggers stand: %s", async (table) => {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  try {
    for (const text of [`UPDATE ${table} SET action = 'x'`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
      await expect(client.query(text)).rejects.toThrow("append-only");
    }
  } finally {
    await client.end();
  }
});
