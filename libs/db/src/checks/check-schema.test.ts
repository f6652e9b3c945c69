import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { StartRefused } from "../client/start-refused.ts";
import { emptyDatabase, type TestDatabase, testDatabase, withClient } from "../testing/test-database.ts";
import { type CheckSchemaOptions, checkSchema } from "./check-schema.ts";

const log = createLogger("test", "silent");
let test: TestDatabase;

beforeEach(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
});
afterEach(() => test.drop());

const check = (options: Partial<CheckSchemaOptions> = {}) =>
  checkSchema({ url: test.appUrl, service: "tenancy", dirs: [], log, ...options });
const admin = (text: string) => withClient(test.superuserUrl, (client) => client.query(text));
const owner = (text: string) => withClient(test.ownerUrl, (client) => client.query(text));

async function refusal(options: Partial<CheckSchemaOptions> = {}): Promise<string> {
  const error = await check(options).then(
    () => new Error("was not refused"),
    (e: Error) => e,
  );
  expect(error).toBeInstanceOf(StartRefused);
  return error.message;
}

/** Runs `use` with a login role of the cluster, which all databases share, and drops it afterwards. */
async function withRole(setup: (role: string) => string, use: (url: string) => Promise<void>): Promise<void> {
  const role = `test_role_${process.pid}_${Math.trunc(performance.now())}`;
  await admin(`create role ${role} login password 'test'; ${setup(role)}`);
  const url = new URL(test.appUrl);
  url.username = role;
  try {
    await admin(`
      grant connect on database "${url.pathname.slice(1)}" to ${role};
      grant usage on schema tenancy to ${role};
      alter role ${role} in database "${url.pathname.slice(1)}" set search_path = tenancy;
      grant select, insert, update, delete on all tables in schema tenancy to ${role}`);
    await use(url.href);
  } finally {
    await admin(`reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`);
  }
}

describe("the start", () => {
  it("is allowed with the roles and tables as roles.sql and the migrations make them", async () => {
    await check();
  });

  it("is refused as a superuser", async () => {
    expect(await refusal({ url: test.superuserUrl })).toMatch(/role "\w+" is a superuser/);
  });

  it("is refused as the owner", async () => {
    expect(await refusal({ url: test.ownerUrl })).toMatch(
      /role "muster_tenancy_owner" is the owner of schema "tenancy"/,
    );
  });

  it("is allowed for any other role with the same rights, and refused with BYPASSRLS", async () => {
    await withRole(
      () => "",
      async (url) => check({ url }),
    );
    await withRole(
      (role) => `alter role ${role} bypassrls`,
      async (url) => expect(await refusal({ url })).toMatch(/role "test_role_\w+" has BYPASSRLS: ALTER ROLE/),
    );
  });

  it.each([
    ["the owner", () => "muster_tenancy_owner", /member of "muster_tenancy_owner", the owner of schema "tenancy"/],
    ["the lookup role", () => "muster_tenancy_lookup", /member of "muster_tenancy_lookup", the lookup role/],
    ["a superuser", () => new URL(test.superuserUrl).username, /member of "\w+", a superuser/],
  ])("is refused to a member of %s, also indirectly and without inheriting", async (_, group, message) => {
    await withRole(
      (role) => `alter role ${role} noinherit; grant ${group()} to ${role}`,
      async (url) => expect(await refusal({ url })).toMatch(message),
    );
    await withRole(
      (role) => `create role ${role}_between; grant ${group()} to ${role}_between; grant ${role}_between to ${role}`,
      async (url) => {
        expect(await refusal({ url })).toMatch(message);
        await admin(`drop role ${new URL(url).username}_between`);
      },
    );
  });

  it("is refused to the owner of a single table", async () => {
    await withRole(
      (role) => `grant create on schema tenancy to ${role}`,
      async (url) => {
        await admin(`alter table tenancy.job owner to ${new URL(url).username}`);
        expect(await refusal({ url })).toMatch(/is the owner of table "job"/);
      },
    );
  });

  it("is refused when a table or a partition has no row-level security, by name", async () => {
    await owner(`
      create table open_table (id int);
      create table parent (id int) partition by list (id);
      create table part partition of parent for values in (1);
      alter table parent enable row level security;
      create policy parent_all on parent using (true)`);
    const message = await refusal();
    expect(message).toMatch(/table "open_table" has no row-level security: ALTER TABLE "open_table" ENABLE/);
    expect(message).toMatch(/table "part" has no row-level security/);
    expect(message).not.toMatch(/table "parent"/);
  });

  it("is refused when a table has row-level security but no policy", async () => {
    await owner("create table closed (id int); alter table closed enable row level security");
    expect(await refusal()).toMatch(/table "closed" has no policy: .*CREATE POLICY/);
  });

  it("is refused when a grant is missing, or one that the service requires", async () => {
    expect(
      await refusal({ grants: { job: ["SELECT", "INSERT"], outbox: ["DELETE"], "no such": [] } }).catch(() => "ok"),
    ).toBe("ok");
    await owner("revoke select on job from muster_tenancy_app");
    expect(await refusal()).toMatch(/lacks SELECT on table "job"/);
    await check({ grants: { job: ["INSERT"] } });
    await owner("revoke insert on job from muster_tenancy_app");
    expect(await refusal({ grants: { job: ["INSERT"] } })).toMatch(/lacks INSERT on table "job"/);
    await owner("revoke usage on schema tenancy from muster_tenancy_app");
    expect(await refusal()).toMatch(/role "muster_tenancy_app" has no USAGE on schema "tenancy"/);
  });

  it("is refused when something else opens the rows: TRUNCATE, a view of the owner's, a materialized view, CREATE", async () => {
    await owner(`
      grant truncate on job to muster_tenancy_app;
      create view peep as select * from job;
      create view fine with (security_invoker = true) as select * from job;
      create materialized view frozen as select * from job`);
    const message = await refusal();
    expect(message).toMatch(/TRUNCATE table "job"/);
    expect(message).toMatch(/view "peep" reads with its owner's rights/);
    expect(message).toMatch(/"frozen" cannot have row-level security/);
    expect(message).not.toMatch(/fine/);
    await owner("grant create on schema tenancy to muster_tenancy_app");
    expect(await refusal()).toMatch(/may create in schema "tenancy"/);
  });

  it("is refused while the schema is not migrated, or not far enough, by name", async () => {
    const empty = await emptyDatabase("tenancy");
    expect(await refusal({ url: empty.appUrl })).toMatch(/schema "tenancy" has not been migrated/);
    await empty.drop();
    const path = await mkdtemp(join(tmpdir(), "migrations-"));
    await writeFile(join(path, "0001_more.sql"), "select 1");
    expect(await refusal({ dirs: [{ label: "tenancy", path }] })).toMatch(
      /tenancy\/0001_more\.sql has not been applied/,
    );
    await rm(path, { recursive: true });
  });

  it("waits for an unavailable database, as long as configured", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const url = `postgres://a:b@127.0.0.1:${port}/x`;
    expect(await refusal({ url, waitMs: 300 })).toMatch(new RegExp(`127\\.0\\.0\\.1:${port} did not answer`));
  });
});
