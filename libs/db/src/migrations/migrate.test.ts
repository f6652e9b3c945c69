import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { checkSchema } from "../checks/check-schema.ts";
import { StartRefused } from "../client/start-refused.ts";
import { emptyDatabase, type TestDatabase, withClient } from "../testing/test-database.ts";
import { migrate } from "./migrate.ts";

const log = createLogger("test", "silent");
let test: TestDatabase;
let path: string;

beforeEach(async () => {
  test = await emptyDatabase("tenancy");
  path = await mkdtemp(join(tmpdir(), "migrations-"));
});
afterEach(async () => {
  await rm(path, { recursive: true });
  await test.drop();
});

const file = (name: string, text: string) => writeFile(join(path, name), text);
const secured = (table: string) =>
  `create table ${table} (id int primary key);
   alter table ${table} enable row level security;
   create policy ${table}_all on ${table} using (true);`;
const run = (options: { url?: string; lockTimeoutMs?: number } = {}) =>
  migrate({ url: test.ownerUrl, service: "tenancy", dirs: [{ label: "tenancy", path }], log, ...options });
const check = () => checkSchema({ url: test.appUrl, service: "tenancy", dirs: [{ label: "tenancy", path }], log });
const owner = <R extends object>(text: string): Promise<R[]> =>
  withClient(test.ownerUrl, async (client) => (await client.query<R>(text)).rows);
const applied = async () =>
  (
    await owner<{ name: string }>(
      "select label || '/' || name as name from schema_migrations order by applied_at, name",
    )
  ).map((row) => row.name);
const refused = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => new Error("was not refused"),
    (e: Error) => e,
  );
  expect(error).toBeInstanceOf(StartRefused);
  return error.message;
};

describe("migrate", () => {
  it("applies the common files and then the service's, once, and records them", async () => {
    await file("0001_first.sql", secured("first"));
    await file("0002_second.sql", secured("second"));
    await run();
    await run();
    expect(await applied()).toEqual([
      "db/0001_baseline.sql",
      "db/0065_event_lanes.sql",
      "db/0066_job_turns.sql",
      "tenancy/0001_first.sql",
      "tenancy/0002_second.sql",
    ]);
    await check();
  });

  it("is done once by four replicas that start together, an index built concurrently included", async () => {
    await file("0001_first.sql", `${secured("first")} insert into first select generate_series(1, 1000);`);
    await file("0002_index.sql", "-- muster:no-transaction\ncreate index concurrently first_id on first (id);");
    await Promise.all([run(), run(), run(), run()]);
    expect(await applied()).toHaveLength(5);
    expect(await owner("select count(*)::int as n from first")).toEqual([{ n: 1000 }]);
  });

  it("undoes a file that fails as a whole and names it", async () => {
    await file("0001_first.sql", `${secured("first")} select 1 / 0;`);
    expect(await refused(run())).toMatch(/tenancy\/0001_first\.sql.*division by zero/);
    expect(await owner("select to_regclass('first') as first")).toEqual([{ first: null }]);
    await file("0001_first.sql", secured("first"));
    await run();
  });

  it("runs a no-transaction file again from its beginning after it failed half-way", async () => {
    await file("0001_first.sql", secured("first"));
    await file(
      "0002_index.sql",
      "-- muster:no-transaction\ncreate index concurrently if not exists first_id on first (id);\nselect 1 / 0;\n",
    );
    expect(await refused(run())).toMatch(/0002_index\.sql/);
    expect(await applied()).not.toContain("tenancy/0002_index.sql");
    await file(
      "0002_index.sql",
      "-- muster:no-transaction\ncreate index concurrently if not exists first_id on first (id);",
    );
    await run();
    expect(await applied()).toContain("tenancy/0002_index.sql");
  });

  it("refuses an edited file by name, with or without migrating, but not other line ends", async () => {
    await file("0001_first.sql", `${secured("first")}\n-- the end\n`);
    await run();
    await file("0001_first.sql", `${secured("first")}\n-- the end\n`.replaceAll("\n", "\r\n"));
    await run();
    await check();
    await file("0001_first.sql", `${secured("first")}\n-- the very end\n`);
    expect(await refused(run())).toMatch(/tenancy\/0001_first\.sql was changed/);
    expect(await refused(check())).toMatch(/tenancy\/0001_first\.sql was changed/);
  });

  it("accepts recorded migrations that this version does not know", async () => {
    await file("0001_first.sql", secured("first"));
    await file("0002_newer.sql", secured("newer"));
    await run();
    await rm(join(path, "0002_newer.sql"));
    await run();
    await check();
  });

  it("reports what to do with a schema from before the baseline", async () => {
    await file("0002_second.sql", secured("second"));
    await run();
    await file("0001_baseline.sql", secured("baseline"));
    expect(await refused(run())).toMatch(/made by a version before the first release.*empty database/);
  });

  it("refuses by name a file older than one that ran", async () => {
    await file("0002_second.sql", secured("second"));
    await run();
    await file("0001_late.sql", secured("late"));
    expect(await refused(run())).toMatch(/tenancy\/0001_late\.sql is older than tenancy\/0002_second\.sql/);
  });

  it.each([
    ["a wrong name", "1_first.sql", "select 1", /tenancy\/1_first\.sql is not named/],
    ["its own BEGIN or COMMIT", "0001_first.sql", "select 1;\n-- so\ncommit;", /0001_first\.sql begins or ends/],
  ])("refuses a file with %s", async (_, name, text, message) => {
    await file(name, text);
    expect(await refused(run())).toMatch(message);
  });

  it("refuses two files of one number", async () => {
    await file("0001_a.sql", "select 1");
    await file("0001_b.sql", "select 1");
    expect(await refused(run())).toMatch(/0001_a\.sql and 0001_b\.sql/);
  });

  it("waits for locks in short attempts and then goes on", async () => {
    await file("0001_first.sql", secured("first"));
    await run();
    await file("0002_change.sql", "alter table first add column body text;");
    await withClient(test.ownerUrl, async (reader) => {
      await reader.query("begin");
      await reader.query("select * from first");
      let attempts = 0;
      const counting = { ...log, info: () => {}, warn: () => void (++attempts === 1 && reader.query("commit")) };
      await migrate({
        url: test.ownerUrl,
        service: "tenancy",
        dirs: [{ label: "tenancy", path }],
        log: counting as unknown as typeof log,
        lockTimeoutMs: 50,
      });
      expect(attempts).toBeGreaterThan(0);
    });
    expect(await applied()).toContain("tenancy/0002_change.sql");
  });

  it("goes on after a deadlock with what a running service does", async () => {
    await file("0001_first.sql", secured("first"));
    await file("0002_second.sql", secured("second"));
    await run();
    await file("0003_both.sql", "alter table first add column body text; alter table second add column body text;");
    let attempts = 0;
    await withClient(test.superuserUrl, async (service) => {
      // The other one of both is ended.
      await service.query("set deadlock_timeout = '1h'; begin; select * from tenancy.second");
      const counting = { ...log, info: () => {}, warn: () => void (++attempts === 1 && service.query("commit")) };
      const migrated = migrate({
        url: test.ownerUrl,
        service: "tenancy",
        dirs: [{ label: "tenancy", path }],
        log: counting as unknown as typeof log,
      });
      const isWaiting = () => service.query("select from pg_locks where not granted");
      while ((await isWaiting()).rowCount === 0);
      await service.query("select * from tenancy.first");
      await migrated;
    });
    expect(attempts).toBe(1);
    expect(await applied()).toContain("tenancy/0003_both.sql");
  });

  it("refuses to run as superuser, as the app role, and in a database without roles.sql", async () => {
    expect(await refused(run({ url: test.superuserUrl }))).toMatch(/superuser or has BYPASSRLS/);
    expect(await refused(run({ url: test.appUrl }))).toMatch(
      /belongs to "muster_tenancy_owner", not to "muster_tenancy_app"/,
    );
    expect(await refused(run({ url: test.ownerUrl.replace(":test@", ":wrong@") }))).toMatch(/cannot log in/);
    await withClient(test.superuserUrl, (admin) => admin.query("drop schema tenancy"));
    expect(await refused(run())).toMatch(/schema "tenancy" does not exist: run deploy\/sql\/roles\.sql/);
  });

  it("leaves its record readable to the app role and no more", async () => {
    await run();
    await withClient(test.appUrl, async (app) => {
      expect((await app.query("select * from schema_migrations")).rowCount).toBe(3);
      await expect(app.query("delete from schema_migrations")).rejects.toMatchObject({ code: "42501" });
    });
  });
});
