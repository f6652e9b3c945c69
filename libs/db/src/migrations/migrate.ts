import { backoffMs, codeOf, type Logger, messageOf, sleep } from "@muster/kit";
import type pg from "pg";
import { connectWhenUp } from "../client/connect.ts";
import { isConnectionFailure, isRepeatable } from "../client/failures.ts";
import { StartRefused } from "../client/start-refused.ts";
import { type Migration, type MigrationDir, pendingMigrations, type Recorded, readMigrations } from "./migrations.ts";
import { type RoleNames, roleNames } from "./role-names.ts";
import { sqlStatements } from "./sql-text.ts";

export type MigrateOptions = {
  /** As the schema's owner, directly: the lock belongs to the session (no PgBouncer in transaction mode). */
  url: string;
  service: string;
  dirs: readonly MigrationDir[];
  log: Logger;
  /** Milliseconds to wait for the database; without it for ever. */
  waitMs?: number;
  /** Milliseconds that one statement may wait for a lock before its file is rolled back and tried again. */
  lockTimeoutMs?: number;
};

const lockAttempts = 20;

/**
 * Brings the schema of `service` up to this version: plain SQL, forward only, one transaction per file, one process at
 * a time however many start. Throws StartRefused naming the file or role that prevents it.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { service, dirs, log, lockTimeoutMs = 5_000 } = options;
  const names = roleNames(service);
  const migrations = await readMigrations(dirs);
  const client = await connectWhenUp(options);
  try {
    await assertOwner(client, names);
    await lockSchema(client, names.schema, log);
    await client.query(
      `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = ${Math.trunc(lockTimeoutMs)}`,
    );
    await createRecord(client, names);
    for (const migration of pendingMigrations(migrations, await recordedMigrations(client, names.schema))) {
      await run(client, names.schema, migration, log);
    }
  } finally {
    await client.end();
  }
}

/** What ran in the schema; throws when the record cannot be read. */
export async function recordedMigrations(client: pg.ClientBase, schema: string): Promise<Recorded[]> {
  const { rows } = await client.query<Recorded>(`select label, name, checksum from "${schema}".schema_migrations`);
  return rows;
}

async function assertOwner(client: pg.Client, { schema, app }: RoleNames): Promise<void> {
  const { rows } = await client.query<{
    role: string;
    privileged: boolean;
    current: string | null;
    owner: string | null;
    hasApp: boolean;
  }>(
    `select current_user as role, rolsuper or rolbypassrls as privileged, current_schema() as current,
            (select pg_get_userbyid(nspowner) from pg_namespace where nspname = $1) as owner,
            exists (select from pg_roles where rolname = $2) as "hasApp"
     from pg_roles where rolname = current_user`,
    [schema, app],
  );
  const [found] = rows;
  if (!found) throw new Error("pg_roles does not show the current role");
  const { role, privileged, current, owner, hasApp } = found;
  const cure = "run deploy/sql/roles.sql in this database";
  if (privileged) {
    throw new StartRefused(
      `role "${role}" is superuser or has BYPASSRLS: migrations run as the owner of schema "${schema}"; give its URL`,
    );
  }
  if (owner === null || !hasApp) {
    throw new StartRefused(`${owner === null ? `schema "${schema}"` : `role "${app}"`} does not exist: ${cure}`);
  }
  if (owner !== role) {
    throw new StartRefused(`schema "${schema}" belongs to "${owner}", not to "${role}": give the owner's URL`);
  }
  if (current !== schema) throw new StartRefused(`the search_path of role "${role}" is not "${schema}": ${cure}`);
}

async function lockSchema(client: pg.Client, schema: string, log: Logger): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    // Tried, not awaited: a session that waits inside pg_advisory_lock holds a snapshot, for which CREATE INDEX
    // CONCURRENTLY of the session that has the lock would wait in turn.
    const { rows } = await client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtextextended('muster migrate ' || $1, 0)) as locked",
      [schema],
    );
    if (rows[0]?.locked) return;
    if (attempt === 0) log.info({ schema }, "another process migrates, waiting");
    await sleep(backoffMs(attempt, 50, 1_000));
  }
}

async function createRecord(client: pg.Client, { schema, app }: RoleNames): Promise<void> {
  const { rows } = await client.query("select to_regclass($1) is not null as exists", [`${schema}.schema_migrations`]);
  if (rows[0].exists) return;
  await client.query(`
    begin;
    create table "${schema}".schema_migrations (
      label text not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now(),
      duration_ms integer not null,
      primary key (label, name)
    );
    revoke all on "${schema}".schema_migrations from "${app}";
    grant select on "${schema}".schema_migrations to "${app}";
    commit`);
}

async function run(client: pg.Client, schema: string, migration: Migration, log: Logger): Promise<void> {
  const file = `${migration.label}/${migration.name}`;
  for (let attempt = 0; ; attempt++) {
    const startedMs = performance.now();
    try {
      if (migration.transactional) await runInTransaction(client, schema, migration, startedMs);
      else {
        for (const statement of sqlStatements(migration.text)) await client.query(statement);
        await record(client, schema, migration, startedMs);
      }
      log.info({ schema, file, durationMs: Math.round(performance.now() - startedMs) }, "migration applied");
      return;
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      await client.query("rollback");
      const isHeldBack = codeOf(error) === "55P03" || isRepeatable(error);
      if (!isHeldBack || attempt + 1 >= lockAttempts) {
        throw new StartRefused(`migration ${file} failed: ${messageOf(error)}`, { cause: error });
      }
      log.warn({ schema, file, attempt }, "migration waits for a lock held by others, trying again");
      await sleep(backoffMs(attempt, 250, 5_000));
    }
  }
}

async function runInTransaction(client: pg.Client, schema: string, migration: Migration, startedMs: number) {
  await client.query("begin");
  await client.query(migration.text);
  await record(client, schema, migration, startedMs);
  const { command } = await client.query("commit");
  if (command !== "COMMIT") throw new Error(`COMMIT was answered with ${command}`);
}

async function record(client: pg.Client, schema: string, { label, name, checksum }: Migration, startedMs: number) {
  await client.query(
    `insert into "${schema}".schema_migrations (label, name, checksum, duration_ms) values ($1, $2, $3, $4)`,
    [label, name, checksum, Math.round(performance.now() - startedMs)],
  );
}
