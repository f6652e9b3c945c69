import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { AppError, type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { qb } from "../builder.ts";
import { type TestDatabase, testDatabase, withClient } from "../testing/test-database.ts";
import { type Database, openDatabase } from "./database.ts";
import { isUniqueViolation } from "./failures.ts";
import { type Query, sql } from "./statement.ts";

const log = createLogger("test", "silent");
const org = (orgId: string): { caller: Caller } => ({ caller: { ...systemCaller("t"), scope: "organization", orgId } });
const anyone = { caller: null };
const appSettings = sql`
  select current_setting('app.scope', true) as scope, current_setting('app.org_id', true) as "orgId",
         current_setting('app.actor_id', true) as actor`;

let test: TestDatabase;
/** One connection, so that every transaction borrows the same one. */
let db: Database;

beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
  await withClient(test.ownerUrl, (owner) =>
    owner.query(`
      create table note (id int primary key, org_id uuid not null, body text);
      alter table note enable row level security;
      create policy note_org on note
        using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
        with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
      create table open_note (id int primary key);
      alter table open_note enable row level security;
      create policy open_note_all on open_note using (true) with check (true)`),
  );
});
afterAll(() => test.drop());
beforeEach(() => {
  db = openDatabase({ url: test.appUrl, max: 1, name: "tenancy", log });
});
afterEach(() => db.close());

describe("tx", () => {
  it("is unavailable once the database is closed, as it is while the process stops", async () => {
    const closed = openDatabase({ url: test.appUrl, max: 1, name: "tenancy", log });
    await closed.close();
    await expect(closed.read(anyone, sql`select 1`)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("commits what fn did and resolves to its result", async () => {
    const orgId = uuidv7();
    const touched = await db.tx(org(orgId), async (t) => {
      await t.execute(sql`insert into note values (1, ${orgId}, 'a'), (2, ${orgId}, 'b')`);
      return t.execute(qb("note").update({ body: "c" }));
    });
    expect(touched).toBe(2);
    expect(await db.read(org(orgId), sql`select id, body from note order by id`)).toEqual([
      { id: 1, body: "c" },
      { id: 2, body: "c" },
    ]);
  });

  it("runs statements in one batch: all of them are committed, or none", async () => {
    const insert = sql`insert into open_note values (11) returning id`;
    const found = sql`select id from open_note where id in (11, 12)`;
    const inFlight = (...statements: Query[]) =>
      db.inOneBatch(anyone, (t) => Promise.all(statements.map((statement) => t.query(statement))));
    expect(await inFlight(insert, found)).toEqual([[{ id: 11 }], [{ id: 11 }]]);
    const failing = inFlight(sql`insert into open_note values (12)`, sql`select 1 / 0`);
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await db.read(anyone, found)).toEqual([{ id: 11 }]);
  });

  it("undoes everything when fn throws", async () => {
    const failing = db.tx(anyone, async (t) => {
      await t.execute(sql`insert into open_note values (10)`);
      throw new AppError("not_found", "nothing here");
    });
    await expect(failing).rejects.toMatchObject({ code: "not_found" });
    expect(await db.read(anyone, sql`select id from open_note where id = 10`)).toEqual([]);
  });

  it("shows no row and takes none without a context, or in another organization's", async () => {
    const orgId = uuidv7();
    await db.tx(org(orgId), (t) => t.execute(sql`insert into note values (20, ${orgId}, 'a')`));
    expect(await db.read(anyone, sql`select id from note`)).toEqual([]);
    expect(await db.read(org(uuidv7()), sql`select id from note`)).toEqual([]);
    const insert = db.tx(anyone, (t) => t.execute(sql`insert into note values (21, ${orgId}, 'a')`));
    await expect(insert).rejects.toMatchObject({ code: "42501" });
    expect(await db.tx(anyone, (t) => t.execute(sql`delete from note`))).toBe(0);
  });

  it("never leaves its tenant to the next borrower of the connection, whether it commits or throws", async () => {
    const empty = [{ scope: "", orgId: "", actor: "" }];
    await db.read(org(uuidv7()), appSettings);
    expect(await db.read(anyone, appSettings)).toEqual(empty);
    const thrown = db.tx(org(uuidv7()), async (t) => {
      await t.query(appSettings);
      throw new Error("no");
    });
    await expect(thrown).rejects.toThrow("no");
    expect(await db.read(anyone, appSettings)).toEqual(empty);
    const failed = db.tx(org(uuidv7()), (t) => t.query(sql`select 1 / 0`));
    await expect(failed).rejects.toMatchObject({ code: "22012" });
    expect(await db.read(anyone, appSettings)).toEqual(empty);
  });

  it("keeps its connection when fn refuses, and closes it when a statement failed or is not answered yet", async () => {
    const backend = sql`select pg_backend_pid() as pid`;
    const pid = async () => (await db.read<{ pid: number }>(anyone, backend))[0]?.pid;
    const first = await pid();
    const refused = db.tx(org(uuidv7()), async (t) => {
      await t.execute(sql`insert into open_note values (25)`);
      throw new AppError("not_found", "nothing here");
    });
    await expect(refused).rejects.toMatchObject({ code: "not_found" });
    const atOnce = db.tx(anyone, async () => {
      throw new AppError("not_found", "nothing here");
    });
    await expect(atOnce).rejects.toMatchObject({ code: "not_found" });
    expect(await pid()).toBe(first);
    expect(await db.read(anyone, sql`select id from open_note where id = 25`)).toEqual([]);
    await expect(db.read(anyone, sql`select 1 / 0`)).rejects.toMatchObject({ code: "22012" });
    const second = await pid();
    expect(second).not.toBe(first);
    const leftAlone = db.tx(anyone, async (t) => {
      t.query(sql`select pg_sleep(30)`).catch(() => undefined);
      throw new AppError("not_found", "nothing here");
    });
    await expect(leftAlone).rejects.toMatchObject({ code: "not_found" });
    expect(await pid()).not.toBe(second);
  });

  it("leaves no setting on the session", async () => {
    await db.read(org(uuidv7()), appSettings);
    const [row] = await db.read<{ timeout: string }>(
      { caller: null, deadlineMs: performance.now() + 60_000 },
      sql`select current_setting('statement_timeout') as timeout`,
    );
    expect(row?.timeout).toMatch(/^(1min|5\d{4}ms|5\ds)$/);
  });

  it("fails when a statement failed, also if fn caught that: COMMIT is answered with ROLLBACK", async () => {
    const failing = db.tx(anyone, async (t) => {
      await t.execute(sql`insert into open_note values (30)`);
      await t.query(sql`select 1 / 0`).catch(() => undefined);
      return "fine";
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await db.read(anyone, sql`select id from open_note where id = 30`)).toEqual([]);
  });

  it("reports the failure of the settings, not its consequences", async () => {
    const caller: Caller = { ...systemCaller("t"), actor: { ...systemCaller("t").actor, id: "nul \0 inside" } };
    const failing = db.tx({ caller }, (t) => t.execute(sql`insert into open_note values (40)`));
    await expect(failing).rejects.toThrow(/invalid byte sequence/);
    await expect(db.tx({ caller }, async () => "nothing sent")).rejects.toThrow(/invalid byte sequence/);
    await expect(db.read({ caller }, sql`select 1`)).rejects.toThrow(/invalid byte sequence/);
    expect(await db.read(anyone, sql`select id from open_note where id = 40`)).toEqual([]);
  });

  it("ends a statement at the deadline of the call", async () => {
    const startedMs = performance.now();
    const slow = db.read({ caller: null, deadlineMs: startedMs + 100 }, sql`select pg_sleep(30)`);
    await expect(slow).rejects.toMatchObject({ code: "deadline_exceeded" });
    await expect(db.read({ caller: null, deadlineMs: startedMs }, sql`select 1`)).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
  });

  it("refuses writes when read-only, in read as well", async () => {
    const write = sql`insert into open_note values (50)`;
    await expect(db.tx(anyone, (t) => t.execute(write), { readOnly: true })).rejects.toMatchObject({ code: "25006" });
    await expect(db.read(anyone, write)).rejects.toMatchObject({ code: "25006" });
  });

  it("in one batch is undone whole when a statement fails, and statements see what earlier ones wrote", async () => {
    const count = sql`select count(*)::int as n from open_note where id between 60 and 69`;
    const failing = db.inOneBatch(anyone, async (t) => {
      await Promise.all([t.execute(sql`insert into open_note values (60)`), t.query(sql`select 1 / 0`)]);
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    const counts = db.inOneBatch(anyone, (t) =>
      Promise.all([t.query(count), t.execute(sql`insert into open_note values (61)`), t.query(count)]),
    );
    expect(await counts).toEqual([[{ n: 0 }], 1, [{ n: 1 }]]);
    expect(await db.read(anyone, count)).toEqual([{ n: 1 }]);
  });

  it("in one batch with the same statement twice, first and later, reads each one's rows", async () => {
    const rowOf = (n: number) => sql`select ${n}::int as n, ${n === 2 ? null : "text"}::text as t, now() as at`;
    for (let round = 0; round < 3; round++) {
      const rows = await db.inOneBatch(anyone, (t) => Promise.all([1, 2].map((n) => t.query(rowOf(n)))));
      expect(rows).toMatchObject([[{ n: 1, t: "text", at: expect.any(Date) }], [{ n: 2, t: null }]]);
    }
  });

  it("takes one statement per text", async () => {
    await expect(db.read(anyone, sql`select 1; select 2`)).rejects.toMatchObject({ code: "42601" });
  });

  it("refuses statements and messages after its end", async () => {
    let late: Promise<unknown> | undefined;
    await db.tx(anyone, async (t) => {
      setImmediate(() => {
        late = t.query(sql`select 1`).catch((error: Error) => error.message);
        expect(() => t.emit({ subject: "s", msgId: "m", body: new Uint8Array() })).toThrow(/after the end/);
      });
    });
    await db.read(anyone, sql`select pg_sleep(0.01)`);
    expect(await late).toMatch(/after the end of its transaction/);
  });

  it("names the violated unique index", async () => {
    const twice = () => db.tx(anyone, (t) => t.execute(sql`insert into open_note values (60)`));
    await twice();
    const error = await twice().catch((e: unknown) => e);
    expect([
      isUniqueViolation(error),
      isUniqueViolation(error, "open_note_pkey"),
      isUniqueViolation(error, "x"),
    ]).toEqual([true, true, false]);
  });

  it("runs again after a deadlock when configured so", async () => {
    await withClient(test.superuserUrl, async (admin) => {
      await admin.query("alter system set deadlock_timeout = '50ms'");
      await admin.query("select pg_reload_conf()");
    });
    const wide = openDatabase({ url: test.appUrl, max: 2, name: "tenancy", log });
    await wide.tx(anyone, (t) => t.execute(sql`insert into open_note values (70), (71)`));
    let runs = 0;
    let met = 0;
    let open: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      open = resolve;
    });
    const lock = (first: number, second: number) =>
      wide.tx(
        anyone,
        async (t) => {
          runs++;
          await t.query(sql`select id from open_note where id = ${first} for update`);
          if (++met === 2) open();
          await both;
          await t.query(sql`select id from open_note where id = ${second} for update`);
        },
        { retry: true },
      );
    await Promise.all([lock(70, 71), lock(71, 70)]);
    expect(runs).toBe(3);
    await wide.close();
  });
});

describe("values", () => {
  it("arrive as the types services work with", async () => {
    const [row] = await db.read<Record<string, unknown>>(
      anyone,
      sql`select 9007199254740991::int8 as big, array[1, null]::int8[] as bigs, 1.50::numeric as exact, date '2024-02-29' as day,
                 timestamptz '2024-02-29T12:00:00.123Z' as at, '{"a": [1]}'::jsonb as json, ${Buffer.from("x")}::bytea as bytes`,
    );
    expect(row).toEqual({
      big: Number.MAX_SAFE_INTEGER,
      bigs: [1, null],
      exact: "1.50",
      day: "2024-02-29",
      at: new Date("2024-02-29T12:00:00.123Z"),
      json: { a: [1] },
      bytes: Buffer.from("x"),
    });
  });

  it("are an error, never a wrong number, when a bigint is beyond 2^53", async () => {
    await expect(db.read(anyone, sql`select 9007199254740993::int8`)).rejects.toThrow(RangeError);
    expect(await db.read(anyone, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });
});

describe("emit", () => {
  const outbox = sql`select subject, msg_id as "msgId", body, traceparent from outbox order by id`;
  const system = { caller: systemCaller("tenancy") };

  it("stores messages with the rows and notifies after COMMIT, not before and not without", async () => {
    const reported: string[] = [];
    db.onEmit(() => reported.push("emitted"));
    const message = { subject: "tenancy.x", msgId: "o/1", body: Buffer.from([1, 2]), traceparent: "00-a" };
    await db.tx(org(uuidv7()), async (t) => {
      t.emit(message);
      t.emit({ ...message, msgId: "o/2", traceparent: null });
      expect(reported).toEqual([]);
    });
    expect(reported).toEqual(["emitted"]);
    await db
      .tx(anyone, async (t) => {
        t.emit({ ...message, msgId: "o/3" });
        await t.query(sql`select 1 / 0`);
      })
      .catch(() => reported.push("failed"));
    expect(reported).toEqual(["emitted", "failed"]);
    expect(await db.read(system, outbox)).toEqual([message, { ...message, msgId: "o/2", traceparent: null }]);
  });

  it.each([1, 15, 16, 17, 1_000, 2_017])(
    "stores %i messages of one transaction as they are, in their order",
    async (count) => {
      const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const messages = Array.from({ length: count }, (_, n) => ({
        subject: `tenancy.many.${count}`,
        msgId: `${n % 7 === 0 ? '"\\{},NULL ü\u{1F600}' : "id"}/${n}`,
        body: all.subarray(0, (n * 37) % 257),
        traceparent: n % 3 === 0 ? null : `00-${n}`,
      }));
      await db.tx(anyone, async (t) => {
        for (const message of messages) t.emit(message);
      });
      const stored = await db.read<Record<string, unknown>>(
        system,
        sql`select subject, msg_id as "msgId", body, traceparent from outbox where subject = ${`tenancy.many.${count}`} order by id`,
      );
      expect(stored.map((row) => ({ ...row, body: Buffer.from(row.body as Uint8Array).toString("hex") }))).toEqual(
        messages.map((message) => ({ ...message, body: message.body.toString("hex") })),
      );
    },
  );

  it("stores a message with the trace of the call when it has none", async () => {
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await db.tx({ ...anyone, meta: { traceparent } }, async (t) =>
      t.emit({ subject: "tenancy.x", msgId: "traced", body: Buffer.from([]) }),
    );
    const rows = await db.read(system, sql`select traceparent from outbox where msg_id = 'traced'`);
    expect(rows).toEqual([{ traceparent }]);
  });

  it("keeps the outbox from every caller but the system", async () => {
    expect(await db.read(org(uuidv7()), outbox)).toEqual([]);
    expect(await db.tx(org(uuidv7()), (t) => t.execute(sql`delete from outbox`))).toBe(0);
  });
});

describe("the pool", () => {
  it("has all of its connections before the first request once it was warmed up, and serves with those", async () => {
    const warm = openDatabase({ url: test.appUrl, max: 3, name: "warm", log });
    await warm.warmUp();
    const open = await withClient(test.superuserUrl, async (admin) => {
      const { rows } = await admin.query("select pid from pg_stat_activity where application_name = 'warm'");
      return rows.map(({ pid }) => pid as number);
    });
    let inside = 0;
    let all: () => void = () => {};
    const together = new Promise<void>((resolve) => {
      all = resolve;
    });
    const used = await Promise.all(
      [1, 2, 3].map(() =>
        warm.tx(anyone, async (t) => {
          const [row] = await t.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
          inside += 1;
          if (inside === 3) all();
          await together;
          return row?.pid;
        }),
      ),
    );
    await warm.close();
    expect(open).toHaveLength(3);
    expect(used.sort()).toEqual(open.sort());
  });

  it("is not held up by warming up where no connection can be had", async () => {
    const nowhere = openDatabase({ url: "postgres://a:b@127.0.0.1:1/x", max: 5, name: "nowhere", log });
    await nowhere.warmUp();
    await expect(nowhere.read(anyone, sql`select 1`)).rejects.toMatchObject({ code: "unavailable" });
    await nowhere.close();
  });

  it("answers overloaded when no connection came free in 2 s, and goes on afterwards", async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const holder = db.tx(anyone, () => held);
    await expect(db.read(anyone, sql`select 1`)).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 1 });
    release();
    await holder;
    expect(await db.check()).toBe("ok");
  });

  it("leaves connections to others while one organization's reads are slow, however many it sends", async () => {
    const shared = openDatabase({ url: test.appUrl, max: 5, name: "shared", log });
    const by = (orgId: string) => {
      const { caller } = org(orgId);
      return { caller: { ...caller, actor: { ...caller.actor, type: "api_key" as const } } };
    };
    const slow = by(uuidv7());
    const others = [uuidv7(), uuidv7(), uuidv7()];
    await withClient(test.superuserUrl, async (admin) => {
      await admin.query("select pg_advisory_lock(1)");
      const stuck = Array.from({ length: 20 }, () =>
        shared.read(slow, sql`select pg_advisory_xact_lock_shared(1)`).then(
          () => "read",
          (error: AppError) => error.code,
        ),
      );
      const served = others.map((each) => shared.read(by(each), sql`select 1 as one`));
      expect(await Promise.all(served)).toEqual([[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]]);
      await shared.tx(by(others[0] as string), (t) => t.execute(sql`insert into open_note values (5)`));
      expect(await shared.check()).toBe("ok");
      await admin.query("select pg_advisory_unlock(1)");
      // Those that waited for more than 2 s, on a slow machine, were refused.
      const outcomes = await Promise.all(stuck);
      expect(outcomes.filter((each) => each !== "overloaded").length).toBeGreaterThanOrEqual(3);
      expect(outcomes.filter((each) => each !== "overloaded" && each !== "read")).toEqual([]);
    });
    await shared.close();
  });

  it("answers unavailable when no server listens or the connection is ended, keeps the cause, and recovers", async () => {
    const nowhere = openDatabase({ url: "postgres://a:b@127.0.0.1:1/x", max: 1, name: "nowhere", log });
    const refused = await nowhere.read(anyone, sql`select 1`).catch((error: AppError) => error);
    expect(refused).toMatchObject({ code: "unavailable", retryAfterSeconds: 1, cause: { code: "ECONNREFUSED" } });
    expect(await nowhere.check()).toMatch(/ECONNREFUSED/);
    await nowhere.close();

    const ended = db.tx(anyone, async (t) => {
      const [row] = await t.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      await withClient(test.superuserUrl, (admin) => admin.query("select pg_terminate_backend($1, 5000)", [row?.pid]));
      await t.query(sql`select 1`);
    });
    await expect(ended).rejects.toMatchObject({ code: "unavailable" });
    expect(await db.read(anyone, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });
});
