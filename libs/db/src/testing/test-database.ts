import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createLogger } from "@muster/kit";
import pg from "pg";
import { type Database, openDatabase } from "../client/database.ts";
import { migrate } from "../migrations/migrate.ts";
import { type MigrationDir, readMigrations } from "../migrations/migrations.ts";
import { dutyRoles, roleNames } from "../migrations/role-names.ts";
import { applyRoles } from "../migrations/roles.ts";

export type TestDatabase = {
  ownerUrl: string;
  appUrl: string;
  superuserUrl: string;
  /** As the role of one duty, such as audit's pruner. */
  dutyUrl(duty: string): string;
  /** As the application role. */
  db: Database;
  /** Closes `db`, ends what is still connected, removes the database. */
  drop(): Promise<void>;
};

const rolesFile = new URL("../../../../deploy/sql/roles.sql", import.meta.url);
const password = "test";
const services = ["identity", "tenancy", "audit", "device_logs", "webhook_dispatcher", "agent_release"];
const quiet = createLogger("test", "error");

/** The variables of roles.sql, every password the same. */
export const testRoleVariables: Record<string, string> = Object.fromEntries(
  ["muster_owner", "audit_pruner", ...services.flatMap((schema) => [`${schema}_owner`, `${schema}_app`])].map(
    (name) => [`${name}_password`, password],
  ),
);

/**
 * A new, migrated database of `service` with the roles of production, in the cluster of MUSTER_TEST_PG_URL (a
 * superuser's URL). Copied from a template made once for the same roles and migrations. Drop it when done.
 */
export function testDatabase(options: { service: string; dirs: readonly MigrationDir[] }): Promise<TestDatabase> {
  return create(options.service, (admin, cluster, rolesSql) => ensureTemplate(admin, cluster, rolesSql, options));
}

/** As testDatabase, with roles and schemas but no migration applied. */
export function emptyDatabase(service: string): Promise<TestDatabase> {
  return create(service, async () => "template1");
}

type FindTemplate = (admin: pg.Client, cluster: string, rolesSql: string) => Promise<string>;

async function create(service: string, findTemplate: FindTemplate): Promise<TestDatabase> {
  const cluster = clusterUrl();
  const names = roleNames(service);
  const name = `test_${names.schema}_${randomBytes(6).toString("hex")}`;
  const url = (user?: string) => databaseUrl(cluster, name, user);

  const rolesSql = await readFile(rolesFile, "utf8");
  await withRolesLock(async (admin) => {
    const template = await findTemplate(admin, cluster, rolesSql);
    await admin.query(`create database "${name}" template "${template}"`);
    // A copy has neither the privileges on the database itself nor the roles' settings in it.
    await withClient(url(), (client) => applyTestRoles(client, rolesSql));
  });

  const db = openDatabase({ url: url(names.app), max: 5, name: service, log: quiet });
  return {
    ownerUrl: url(names.owner),
    appUrl: url(names.app),
    superuserUrl: url(),
    dutyUrl(duty) {
      const role = dutyRoles(service)[duty];
      if (!role) throw new Error(`${service} has no role for ${duty}`);
      return url(role);
    },
    db,
    async drop() {
      await db.close();
      await withClient(cluster, (admin) => admin.query(`drop database if exists "${name}" with (force)`));
    },
  };
}

/** Runs `use` under a lock on the roles, which belong to the cluster and permit one transaction at a time. */
export function withRolesLock<T>(use: (admin: pg.Client) => Promise<T>): Promise<T> {
  // Advisory locks are per database: everybody takes this one in the database that the URL names.
  return withClient(clusterUrl(), async (admin) => {
    await admin.query("select pg_advisory_lock(hashtextextended('muster test roles', 0))");
    return use(admin);
  });
}

function clusterUrl(): string {
  const url = process.env.MUSTER_TEST_PG_URL;
  if (!url) throw new Error("MUSTER_TEST_PG_URL is not set: run tests through `npm test` or `npm run jest`");
  return url;
}

async function ensureTemplate(
  admin: pg.Client,
  cluster: string,
  rolesSql: string,
  { service, dirs }: { service: string; dirs: readonly MigrationDir[] },
): Promise<string> {
  const hash = createHash("sha256").update(service).update(rolesSql);
  for (const { label, name, checksum } of await readMigrations(dirs)) hash.update(`\n${label} ${name} ${checksum}`);
  const template = `template_${hash.digest("hex").slice(0, 24)}`;
  const { rowCount } = await admin.query("select from pg_database where datname = $1", [template]);
  if (rowCount) return template;

  // Renamed when complete: a run that ends half-way leaves no half template.
  const unfinished = `${template}_new`;
  await admin.query(`drop database if exists "${unfinished}" with (force)`);
  await admin.query(`create database "${unfinished}"`);
  await withClient(databaseUrl(cluster, unfinished), (client) => applyTestRoles(client, rolesSql));
  const ownerUrl = databaseUrl(cluster, unfinished, roleNames(service).owner);
  await migrate({ url: ownerUrl, service, dirs, log: quiet });
  await admin.query(`alter database "${unfinished}" rename to "${template}"`);
  return template;
}

/** One round of SCRAM-SHA-256 per password and per connection, instead of 4,096; PostgreSQL 15 has no such setting. */
async function applyTestRoles(client: pg.Client, rolesSql: string): Promise<void> {
  await client.query("select set_config(name, '1', false) from pg_settings where name = 'scram_iterations'");
  await applyRoles(client, rolesSql, testRoleVariables);
}

function databaseUrl(cluster: string, database: string, user?: string): string {
  const url = new URL(cluster);
  url.pathname = `/${database}`;
  if (user) {
    url.username = user;
    url.password = password;
  }
  return url.href;
}

/** A connection for as long as `use` runs. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
