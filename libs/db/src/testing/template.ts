import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createLogger } from "@muster/kit";
import type pg from "pg";
import { migrate } from "../migrations/migrate.ts";
import { type MigrationDir, readMigrations } from "../migrations/migrations.ts";
import { roleNames } from "../migrations/role-names.ts";
import { applyRoles } from "../migrations/roles.ts";
import { clusterUrl, databaseUrl, password, withClient, withRolesLock } from "./connections.ts";

const rolesFile = new URL("../../../../deploy/sql/roles.sql", import.meta.url);
const services = ["identity", "tenancy", "audit", "device_logs", "webhook_dispatcher", "agent_release"];
const quiet = createLogger("test", "error");
/** Names of templates by what they are made of. */
const cached = new Map<string, Promise<string>>();

/** The variables of roles.sql, every password the same. */
export const testRoleVariables: Record<string, string> = Object.fromEntries(
  ["muster_owner", "audit_pruner", ...services.flatMap((schema) => [`${schema}_owner`, `${schema}_app`])].map(
    (name) => [`${name}_password`, password],
  ),
);

/**
 * The name of the database that copies of `service` are made of: with the roles of production, and with the migrations
 * of `dirs` unless they are null. Made by the first who asks for it.
 */
export function templateOf(service: string, dirs: readonly MigrationDir[] | null): Promise<string> {
  const key = JSON.stringify([clusterUrl(), service, dirs]);
  const name = cached.get(key) ?? findOrMake(service, dirs);
  cached.set(key, name);
  return name;
}

async function findOrMake(service: string, dirs: readonly MigrationDir[] | null): Promise<string> {
  const cluster = clusterUrl();
  const rolesSql = await readFile(rolesFile, "utf8");
  const hash = createHash("sha256")
    .update(service)
    .update(rolesSql)
    .update(dirs === null ? "empty" : "");
  for (const { label, name, checksum } of await readMigrations(dirs ?? []))
    hash.update(`\n${label} ${name} ${checksum}`);
  const template = `template_${hash.digest("hex").slice(0, 24)}`;
  const exists = async (admin: pg.Client) =>
    ((await admin.query("select from pg_database where datname = $1", [template])).rowCount ?? 0) > 0;
  if (await withClient(cluster, exists)) return template;

  await withRolesLock(async (admin) => {
    if (await exists(admin)) return;
    // Renamed when complete: a run that ends half-way leaves no half template.
    const unfinished = `${template}_new`;
    await admin.query(`drop database if exists "${unfinished}" with (force)`);
    await admin.query(`create database "${unfinished}"`);
    await withClient(databaseUrl(cluster, unfinished), (client) => applyTestRoles(client, rolesSql));
    const ownerUrl = databaseUrl(cluster, unfinished, roleNames(service).owner);
    if (dirs !== null) await migrate({ url: ownerUrl, service, dirs, log: quiet });
    await admin.query(`alter database "${unfinished}" rename to "${template}"`);
  });
  return template;
}

/** One round of SCRAM-SHA-256 per password and per connection, instead of 4,096; PostgreSQL 15 has no such setting. */
async function applyTestRoles(client: pg.Client, rolesSql: string): Promise<void> {
  await client.query("select set_config(name, '1', false) from pg_settings where name = 'scram_iterations'");
  await applyRoles(client, rolesSql, testRoleVariables);
}
