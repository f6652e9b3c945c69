import { randomBytes } from "node:crypto";
import { createLogger } from "@muster/kit";
import type pg from "pg";
import { type Database, openDatabase } from "../client/database.ts";
import type { MigrationDir } from "../migrations/migrations.ts";
import { dutyRoles, roleNames } from "../migrations/role-names.ts";
import { clusterUrl, databaseUrl, withClient } from "./connections.ts";
import { templateOf } from "./template.ts";

export { withClient, withRolesLock } from "./connections.ts";
export { testRoleVariables } from "./template.ts";

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

const quiet = createLogger("test", "error");

/**
 * A new, migrated database of `service` with the roles of production, in the cluster of MUSTER_TEST_PG_URL (a
 * superuser's URL). Copied from a template made once for the same roles and migrations. Drop it when done.
 */
export function testDatabase(options: { service: string; dirs: readonly MigrationDir[] }): Promise<TestDatabase> {
  return create(options.service, options.dirs);
}

/** As testDatabase, with roles and schemas but no migration applied. */
export function emptyDatabase(service: string): Promise<TestDatabase> {
  return create(service, null);
}

async function create(service: string, dirs: readonly MigrationDir[] | null): Promise<TestDatabase> {
  const cluster = clusterUrl();
  const names = roleNames(service);
  const name = `test_${names.schema}_${randomBytes(6).toString("hex")}`;
  const url = (user?: string) => databaseUrl(cluster, name, user);

  const template = await templateOf(service, dirs);
  await withClient(cluster, async (admin) => {
    // Its files, not its pages one by one over the log: a fifth of the processor time.
    await admin.query(`create database "${name}" template "${template}" strategy file_copy`);
    await copySettings(admin, template, name);
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

/** What a copy does not have of its template: the privileges on the database itself, the roles' settings in it. */
async function copySettings(admin: pg.Client, template: string, copy: string): Promise<void> {
  const { rows } = await admin.query<{ statement: string }>(
    `select format('grant %s on database %I to %s', privilege_type, $2::text, grantee::regrole) as statement
     from pg_database, aclexplode(datacl) where datname = $1 and grantee <> 0 and grantee <> datdba
     union all
     select format('alter role %s in database %I set %s to %s', setrole::regrole, $2::text,
                   split_part(setting, '=', 1), substring(setting from position('=' in setting) + 1))
     from pg_db_role_setting, unnest(setconfig) as setting
     where setdatabase = (select oid from pg_database where datname = $1)`,
    [template, copy],
  );
  const statements = [`revoke all on database "${copy}" from public`, ...rows.map(({ statement }) => statement)];
  await admin.query(statements.join(";\n"));
}
