import { readFileSync } from "node:fs";
import { join } from "node:path";
import { applyRoles } from "@muster/db";
import pg from "pg";
import { root } from "./config.ts";
import { type DatabaseUrls, databaseName, databaseUrls, variableOf } from "./database.ts";
import type { Keys } from "./keys.ts";
import { Problem } from "./problem.ts";

/** Creates the database and, through deploy/sql/roles.sql, the roles of production; answers their URLs. */
export async function prepareDatabase(adminUrl: string, keys: Pick<Keys, "rolePasswords">): Promise<DatabaseUrls> {
  const inDatabase = new URL(adminUrl);
  inDatabase.pathname = `/${await createDatabase(adminUrl)}`;
  const client = await connect(inDatabase.href);
  try {
    const variables = Object.fromEntries(
      Object.entries(keys.rolePasswords).map(([role, password]) => [variableOf(role), password]),
    );
    await applyRoles(client, readFileSync(join(root, "deploy", "sql", "roles.sql"), "utf8"), variables);
  } finally {
    await client.end();
  }
  return databaseUrls(inDatabase, keys);
}

/** The database an administrator's URL names, or `muster` when it names none or the maintenance database. */
async function createDatabase(adminUrl: string): Promise<string> {
  const named = decodeURIComponent(new URL(adminUrl).pathname.slice(1));
  if (named !== "" && named !== "postgres") return named;
  const maintenance = new URL(adminUrl);
  maintenance.pathname = "/postgres";
  const client = await connect(maintenance.href);
  try {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(databaseName)}`);
  } finally {
    await client.end();
  }
  return databaseName;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
  } catch (cause) {
    const { host } = new URL(url);
    throw new Problem(
      `PostgreSQL at ${host} cannot be used: ${cause instanceof Error ? cause.message : cause}\n` +
        "With MUSTER_DATABASE_URL: check that it is up and that the user in the URL may create roles and databases.",
      { cause },
    );
  }
  return client;
}
