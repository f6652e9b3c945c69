import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { systemCaller, uuidv7 } from "@muster/kit";
import { sql } from "../client/statement.ts";
import { type TestDatabase, testDatabase } from "../testing/test-database.ts";
import { deadLetters } from "./dead-letters.ts";
import { type Job, jobs } from "./jobs.ts";

const system = { caller: systemCaller("tenancy") };
const someone = { caller: { ...systemCaller("x"), scope: "organization" as const, orgId: uuidv7() } };
let test: TestDatabase;

beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
});
afterAll(() => test.drop());

const some = (job: Job | null): Job => {
  if (!job) throw new Error("no job was claimed");
  return job;
};

describe("jobs", () => {
  it("go from queued over their cursor to done", async () => {
    const queue = jobs(test.db);
    const id = await queue.enqueue({ kind: "verify", input: { orgId: "o" } });
    const job = some(await queue.claim({ kinds: ["verify"] }));
    expect(job).toMatchObject({ id, state: "running", input: { orgId: "o" }, cursor: null, attempts: 1 });
    await queue.heartbeat(job);
    await queue.progress(job, [1, "x"]);
    expect(await queue.get(id)).toMatchObject({ state: "running", cursor: [1, "x"] });
    await queue.finish(job, { rows: 3 });
    expect(await queue.get(id)).toMatchObject({ state: "done", result: { rows: 3 }, finishedAt: expect.any(Date) });
    expect(await queue.claim({ kinds: ["verify"] })).toBeNull();
    await expect(queue.progress(job, 2)).rejects.toThrow(/taken over or has ended/);
  });

  it("are removed 30 days after their end, and not before; an open one stays whatever its age", async () => {
    const queue = jobs(test.db);
    const [old, recent, open] = [await queue.enqueue({ kind: "old" }), uuidv7(), uuidv7()];
    await queue.finish(some(await queue.claim({ kinds: ["old"] })));
    await queue.enqueue({ kind: "recent", id: recent });
    await queue.fail(some(await queue.claim({ kinds: ["recent"] })), "no luck");
    await queue.enqueue({ kind: "never claimed", id: open });
    const age = (id: string, days: number) =>
      test.db.tx(system, (t) =>
        t.execute(sql`update job set created_at = now() - ${days} * interval '1 day',
                        finished_at = finished_at - ${days} * interval '1 day' where id = ${id}`),
      );
    await age(old, 31);
    await age(recent, 29);
    await age(open, 100);
    expect(await queue.removeFinished()).toBe(1);
    expect([await queue.get(old), (await queue.get(recent))?.state, (await queue.get(open))?.state]).toEqual([
      null,
      "failed",
      "queued",
    ]);
  });

  it("are claimed by one of many at once, oldest first", async () => {
    const queue = jobs(test.db);
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push(await queue.enqueue({ kind: "many" }));
    expect((await queue.claim({ kinds: ["many"] }))?.id).toBe(ids[0]);
    const claimed = await Promise.all([1, 2, 3, 4].map(() => queue.claim({ kinds: ["many"] })));
    expect(claimed.flatMap((job) => job?.id ?? []).sort()).toEqual(ids.slice(1).sort());
  });

  it("are taken over from a silent holder with their cursor, and the former holder can change nothing", async () => {
    const queue = jobs(test.db);
    await queue.enqueue({ kind: "stale" });
    const first = some(await queue.claim({ kinds: ["stale"] }));
    await queue.progress(first, 7);
    expect(await queue.claim({ kinds: ["stale"] })).toBeNull();
    await test.db.tx(system, (t) =>
      t.execute(sql`update job set heartbeat_at = now() - interval '31 s' where id = ${first.id}`),
    );
    const second = some(await queue.claim({ kinds: ["stale"] }));
    expect(second).toMatchObject({ id: first.id, cursor: 7, attempts: 2 });
    await expect(queue.heartbeat(first)).rejects.toThrow(/taken over/);
    await expect(queue.finish(first)).rejects.toThrow(/taken over/);
    await queue.fail(second, "gave up");
    expect(await queue.get(first.id)).toMatchObject({ state: "failed", error: "gave up" });
  });

  it("progress together with the work, or not at all", async () => {
    const queue = jobs(test.db);
    await queue.enqueue({ kind: "together" });
    const job = some(await queue.claim({ kinds: ["together"] }));
    const broken = test.db.tx(system, async (t) => {
      await queue.progress(job, "far", t);
      throw new Error("the work failed");
    });
    await expect(broken).rejects.toThrow("the work failed");
    expect(await queue.get(job.id)).toMatchObject({ cursor: null });
  });

  it("are invisible to all callers but the system", async () => {
    expect(await test.db.read(someone, sql`select id from job`)).toEqual([]);
  });
});

describe("dead letters", () => {
  const letter = {
    subject: "tenancy.x",
    msgId: "o/1",
    reason: "cannot \0 be",
    body: Buffer.from("body"),
    attempts: 10,
  };

  it("are listed newest first, in pages", async () => {
    const letters = deadLetters(test.db);
    const ids: string[] = [];
    for (const msgId of ["a", "b", "c"]) {
      // Ids of one millisecond are in no order.
      const atMs = Date.now();
      while (Date.now() === atMs) await new Promise((resolve) => setImmediate(resolve));
      ids.unshift(await letters.put({ ...letter, msgId }));
    }
    const first = await letters.list({ limit: 2 });
    const rest = await letters.list({ limit: 2, before: first.at(-1)?.id ?? null });
    expect([...first, ...rest].map((l) => l.id)).toEqual(ids);
    expect(first[0]).toMatchObject({ msgId: "c", reason: "cannot   be", attempts: 10, bodyBytes: 4, requeuedAt: null });
    expect(await test.db.read(someone, sql`select id from dead_letter`)).toEqual([]);
  });

  it("keep 64 KB of a body and its length", async () => {
    const letters = deadLetters(test.db);
    await letters.put({ ...letter, body: new Uint8Array(100_000) });
    const [stored] = await letters.list({ limit: 1 });
    expect([stored?.body.length, stored?.bodyBytes]).toEqual([65_536, 100_000]);
  });

  it("are requeued once, in one transaction with what handles them again", async () => {
    const letters = deadLetters(test.db);
    const id = await letters.put(letter);
    const failing = letters.requeue(id, () => {
      throw new Error("still failing");
    });
    await expect(failing).rejects.toThrow("still failing");
    expect(await letters.requeue(id, (t, { subject, msgId, body }) => t.emit({ subject, msgId, body }))).toBe(true);
    expect(await letters.requeue(id, () => {})).toBe(false);
    expect(await test.db.read(system, sql`select msg_id as "msgId" from outbox`)).toEqual([{ msgId: "o/1" }]);
    const [stored] = await letters.list({ limit: 1 });
    expect(stored?.requeuedAt).toBeInstanceOf(Date);
  });
});
