import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import type pg from "pg";
import { sql } from "../client/statement.ts";
import {
  type TestDatabase,
  testDatabase,
  testRoleVariables,
  withClient,
  withRolesLock,
} from "../testing/test-database.ts";
import { roleNames } from "./role-names.ts";
import { applyRoles } from "./roles.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await testDatabase({ service: "device-logs", dirs: [] });
});
afterAll(() => test.drop());

const owner = (text: string) => withClient(test.ownerUrl, async (client) => (await client.query(text)).rows);

/** pg_dump of the system, when it is not older than the server. */
async function findPgDump(): Promise<string | undefined> {
  const [row] = await owner("select current_setting('server_version_num')::int / 10000 as major");
  const folder = "/usr/lib/postgresql";
  const versions = existsSync(folder) ? readdirSync(folder).map(Number) : [];
  const fit = versions.filter((version) => version >= row.major).sort((a, b) => a - b)[0];
  return fit === undefined ? undefined : join(folder, String(fit), "bin", "pg_dump");
}

describe("roleNames", () => {
  it("writes hyphens as underscores and refuses what is no service's name", () => {
    expect(roleNames("device-logs")).toEqual({
      schema: "device_logs",
      owner: "muster_device_logs_owner",
      app: "muster_device_logs_app",
      lookup: "muster_device_logs_lookup",
    });
    expect(() => roleNames('x"; drop')).toThrow(TypeError);
  });
});

describe("roles.sql", () => {
  it.each([
    "select lo_create(0)",
    "select lo_creat(-1)",
    "select lo_from_bytea(0, 'x')",
    "select lo_put(1, 0, 'x')",
    "select lo_get(1)",
    "select lo_open(1, 262144)",
    "select loread(0, 1)",
    "select lowrite(0, 'x')",
    "select lo_unlink(1)",
    "select lo_truncate(0, 0)",
  ])("keeps large objects from services: %s", async (text) => {
    await withClient(test.appUrl, async (app) => {
      await expect(app.query(text)).rejects.toMatchObject({ code: "42501" });
    });
  });

  it("may run again, takes back what was granted meanwhile, and forgets the passwords it was given", async () => {
    const rolesSql = await readFile(new URL("../../../../deploy/sql/roles.sql", import.meta.url), "utf8");
    const inRollback = async (admin: pg.Client) => {
      // Undone by the rollback: the roles are those of all tests.
      await admin.query("begin");
      await admin.query("grant muster_device_logs_owner to muster_device_logs_app");
      await admin.query("alter role muster_device_logs_app bypassrls createdb");
      await applyRoles(admin, rolesSql, testRoleVariables);
      const { rows } = await admin.query(`
        select rolbypassrls or rolcreatedb as powerful, current_setting('muster.identity_owner') as password,
               pg_has_role('muster_device_logs_app', 'muster_device_logs_owner', 'MEMBER') as member
        from pg_roles where rolname = 'muster_device_logs_app'`);
      expect(rows).toEqual([{ powerful: false, password: "", member: false }]);
      await admin.query("rollback");
    };
    await withRolesLock(() => withClient(test.superuserUrl, inRollback));
  });

  it("grants the app no CREATE, no temporary tables, no function it was not granted, and no other schema", async () => {
    await owner("create function f() returns int language sql as 'select 1'");
    await withClient(test.appUrl, async (app) => {
      for (const text of [
        "create table t (id int)",
        "create table public.t (id int)",
        "create temporary table t (id int)",
        "select f()",
        "set role muster_device_logs_owner",
        "set role muster_device_logs_lookup",
        "create table identity.t (id int)",
        "alter table outbox disable row level security",
      ]) {
        await expect(app.query(text)).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|3F000|42P01)$/) });
      }
    });
  });

  it("lets a look-up of the lookup role see the rows that the app cannot", async () => {
    const orgId = uuidv7();
    await owner(`
      create table secret (org_id uuid, digest text, other text);
      alter table secret enable row level security;
      create policy secret_org on secret using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
      create policy secret_lookup on secret for select to muster_device_logs_lookup using (true);
      grant select (org_id, digest) on secret to muster_device_logs_lookup;
      create function secret_org(wanted text) returns uuid language sql security definer
        set search_path = device_logs, pg_temp as 'select org_id from secret where digest = wanted';
      alter function secret_org owner to muster_device_logs_lookup;
      grant execute on function secret_org to muster_device_logs_app;
      insert into secret values ('${orgId}', 'd', 'o')`);
    expect(await test.db.read({ caller: null }, sql`select org_id from secret`)).toEqual([]);
    expect(await test.db.read({ caller: null }, sql`select secret_org('d') as org`)).toEqual([{ org: orgId }]);
    expect(await owner("select other from secret")).toEqual([{ other: "o" }]);
  });

  it("lets the owner dump every row, and the dump restores", async () => {
    await owner("create table if not exists dumped (id int); alter table dumped enable row level security");
    await owner("insert into dumped select generate_series(1, 10)");
    expect(await owner("select count(*)::int as rows from dumped")).toEqual([{ rows: 10 }]);
    const pgDump = await findPgDump();
    if (!pgDump) return;
    const { stdout } = await promisify(execFile)(
      pgDump,
      ["--schema", "device_logs", "--inserts", "--dbname", test.ownerUrl],
      {
        maxBuffer: 1 << 26,
      },
    );
    const copy = await testDatabase({ service: "device-logs", dirs: [] });
    // \restrict of newer pg_dumps is for psql alone.
    const script = stdout.replaceAll(/^\\.*$/gm, "");
    await withClient(copy.superuserUrl, async (admin) => {
      await admin.query("drop schema device_logs cascade");
      await admin.query(script);
      const { rows } = await admin.query(`
        select (select count(*)::int from device_logs.dumped) as rows,
               (select count(*)::int from pg_policies where schemaname = 'device_logs') as policies`);
      const [{ policies }] = await owner(
        "select count(*)::int as policies from pg_policies where schemaname = 'device_logs'",
      );
      expect(rows).toEqual([{ rows: 10, policies }]);
    });
    await copy.drop();
  });
});
