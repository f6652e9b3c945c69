import type { Logger } from "@muster/kit";
import type pg from "pg";
import { connectWhenUp } from "../client/connect.ts";
import { StartRefused } from "../client/start-refused.ts";
import { recordedMigrations } from "../migrations/migrate.ts";
import { type Migration, type MigrationDir, pendingMigrations, readMigrations } from "../migrations/migrations.ts";
import { type RoleNames, roleNames } from "../migrations/role-names.ts";

export type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE";

export type CheckSchemaOptions = {
  /** As the application role, or as the role of one duty (`exact`). */
  url: string;
  service: string;
  dirs: readonly MigrationDir[];
  log: Logger;
  /** Privileges the role needs on a table instead of SELECT. */
  grants?: Record<string, readonly Privilege[]>;
  /** Privileges the role must not have on a table. */
  withheld?: Record<string, readonly Privilege[]>;
  /**
   * `grants` is all that the role may do: every other right on a table is refused, and none is needed on the others.
   */
  exact?: boolean;
  /** Milliseconds to wait for the database; without it for ever. */
  waitMs?: number;
};

const everything: readonly Privilege[] = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const rolesCure = "run deploy/sql/roles.sql in this database";

/**
 * Whether the schema is the one this version needs and its row-level security holds for the role of `url`. Throws
 * StartRefused whose message names every role, file and table that is wrong, each with its cure.
 */
export async function checkSchema(options: CheckSchemaOptions): Promise<void> {
  const names = roleNames(options.service);
  const migrations = await readMigrations(options.dirs);
  const client = await connectWhenUp(options);
  try {
    refuse(await roleProblems(client, names));
    refuse(await migrationProblems(client, names, migrations));
    refuse(await tableProblems(client, names, options));
  } finally {
    await client.end();
  }
}

function refuse(problems: string[]): void {
  if (problems.length > 0) throw new StartRefused(problems.join("\n"));
}

type RoleRow = {
  role: string;
  superuser: boolean;
  bypassRls: boolean;
  schemaExists: boolean;
  currentSchema: string | null;
  usage: boolean | null;
  create: boolean | null;
};

type PowerRow = { name: string; self: boolean; reason: string };

async function roleProblems(client: pg.Client, { schema, lookup }: RoleNames): Promise<string[]> {
  const { rows } = await client.query<RoleRow>(
    `select r.rolname as role, r.rolsuper as superuser, r.rolbypassrls as "bypassRls", n.oid is not null as "schemaExists",
            current_schema() as "currentSchema", has_schema_privilege(n.oid, 'USAGE') as usage,
            has_schema_privilege(n.oid, 'CREATE') as create
     from pg_roles r left join pg_namespace n on n.nspname = $1
     where r.rolname = current_user`,
    [schema],
  );
  const [found] = rows;
  if (!found) throw new Error("pg_roles does not show the current role");
  const { role } = found;
  if (found.superuser)
    return [`role "${role}" is a superuser, whom row-level security does not bind: give the URL of the app role`];
  if (found.bypassRls)
    return [`role "${role}" has BYPASSRLS: ALTER ROLE "${role}" NOBYPASSRLS, or give the URL of the app role`];
  if (!found.schemaExists) return [`schema "${schema}" does not exist: ${rolesCure}`];

  // MEMBER also counts memberships that are not inherited: SET ROLE would be enough.
  const { rows: powers } = await client.query<PowerRow>(
    `select name, name = current_user as self, reason
     from (
       select r.rolname as name,
              case
                when r.rolsuper then 'a superuser'
                when r.rolbypassrls then 'a role with BYPASSRLS'
                when r.oid = n.nspowner then format('the owner of schema "%s"', n.nspname)
                when r.rolname = $2 then 'the lookup role'
                else (select format('the owner of table "%s"', min(c.relname)) from pg_class c
                      where c.relnamespace = n.oid and c.relowner = r.oid and c.relkind in ('r', 'p')
                      having count(*) > 0)
              end as reason
       from pg_roles r, pg_namespace n
       where n.nspname = $1 and pg_has_role(current_user, r.oid, 'MEMBER')
     ) held
     where reason is not null`,
    [schema, lookup],
  );
  const problems = powers.map(({ name, self, reason }) =>
    self
      ? `role "${role}" is ${reason}: the service must run as another role; give the URL of the app role`
      : `role "${role}" is a member of "${name}", ${reason}: REVOKE "${name}" FROM "${role}"`,
  );
  if (!found.usage) problems.push(`role "${role}" has no USAGE on schema "${schema}": ${rolesCure}`);
  else if (found.currentSchema !== schema) {
    problems.push(`the search_path of role "${role}" is not "${schema}": ${rolesCure}`);
  }
  if (found.create && problems.length === 0) {
    problems.push(
      `role "${role}" may create in schema "${schema}": REVOKE CREATE ON SCHEMA "${schema}" FROM "${role}"`,
    );
  }
  return problems;
}

async function migrationProblems(client: pg.Client, { schema }: RoleNames, migrations: Migration[]): Promise<string[]> {
  const { rows } = await client.query<{ readable: boolean | null }>(
    "select has_table_privilege(to_regclass($1), 'SELECT') as readable",
    [`"${schema}".schema_migrations`],
  );
  if (!rows[0]?.readable) {
    return [
      `schema "${schema}" has not been migrated: run the migrations as its owner (AUTO_MIGRATE=true with DATABASE_URL)`,
    ];
  }
  return pendingMigrations(migrations, await recordedMigrations(client, schema)).map(
    ({ label, name }) =>
      `migration ${label}/${name} has not been applied to schema "${schema}": run the migrations as its owner`,
  );
}

type TableRow = {
  name: string;
  kind: string;
  secured: boolean;
  policies: number;
  invoker: boolean;
  privileges: string[];
};

async function tableProblems(
  client: pg.Client,
  { schema }: RoleNames,
  { grants = {}, withheld = {}, exact = false }: Pick<CheckSchemaOptions, "grants" | "withheld" | "exact">,
): Promise<string[]> {
  const { rows } = await client.query<TableRow>(
    `select c.relname as name, c.relkind as kind, c.relrowsecurity as secured,
            (select count(*)::int from pg_policy p where p.polrelid = c.oid) as policies,
            coalesce('security_invoker=true' = any(c.reloptions) or 'security_invoker=on' = any(c.reloptions), false) as invoker,
            array(select p from unnest(array['SELECT', 'INSERT', 'UPDATE']) p where has_any_column_privilege(c.oid, p)
                  union all
                  select p from unnest(array['DELETE', 'TRUNCATE']) p where has_table_privilege(c.oid, p)) as privileges
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname <> 'schema_migrations'
     order by c.relname`,
    [schema],
  );
  return rows.flatMap((table) => {
    const needed = grants[table.name] ?? (exact ? [] : ["SELECT"]);
    const kept = exact ? everything.filter((privilege) => !needed.includes(privilege)) : withheld[table.name];
    return problemsOf(table, needed, kept ?? []);
  });
}

function problemsOf(
  { name, kind, secured, policies, invoker, privileges }: TableRow,
  needed: readonly string[],
  withheld: readonly string[],
): string[] {
  if (kind === "v" && !invoker && privileges.length > 0) {
    return [`view "${name}" reads with its owner's rights: ALTER VIEW "${name}" SET (security_invoker = true)`];
  }
  if (kind === "v") return [];
  if (kind === "m" || kind === "f") {
    return privileges.length > 0
      ? [`"${name}" cannot have row-level security: REVOKE ALL ON "${name}" from the app role`]
      : [];
  }
  const problems: string[] = [];
  if (!secured)
    problems.push(`table "${name}" has no row-level security: ALTER TABLE "${name}" ENABLE ROW LEVEL SECURITY`);
  if (policies === 0) problems.push(`table "${name}" has no policy: add one by CREATE POLICY in a migration`);
  if (privileges.includes("TRUNCATE")) {
    problems.push(`the app role may TRUNCATE table "${name}", which row-level security does not stop: REVOKE it`);
  }
  for (const privilege of needed) {
    if (!privileges.includes(privilege)) {
      problems.push(
        `the app role lacks ${privilege} on table "${name}": GRANT it in a migration, or ${rolesCure} before migrating`,
      );
    }
  }
  for (const privilege of withheld) {
    if (privileges.includes(privilege)) {
      problems.push(`the role may ${privilege} on table "${name}", which is not its duty: REVOKE it`);
    }
  }
  return problems;
}
