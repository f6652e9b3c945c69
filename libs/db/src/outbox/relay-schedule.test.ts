import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { systemCaller } from "@muster/kit";
import { sql } from "../client/statement.ts";
import { type TestDatabase, testDatabase } from "../testing/test-database.ts";
import { createSchedule, type ScheduledBatch } from "./relay-schedule.ts";
import { relayStore } from "./relay-store.ts";

const system = { caller: systemCaller("tenancy") };
const most = 256;

let test: TestDatabase;
let nowMs: number;
let rests: number;
let schedule: ReturnType<typeof createSchedule>;

beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
});
afterAll(() => test.drop());
beforeEach(async () => {
  await test.db.tx(system, (t) => t.execute(sql`delete from outbox`));
  nowMs = 10_000;
  rests = 0;
  const store = relayStore(test.db, "test");
  schedule = createSchedule(
    store,
    () => {
      rests += 1;
    },
    () => nowMs,
  );
});

const emit = (subject: string, count: number, name = subject) =>
  test.db.tx({ caller: null }, async (t) => {
    for (let n = 0; n < count; n++) t.emit({ subject, msgId: `${name}/${n}`, body: Buffer.from("x") });
  });
/** Takes a batch that lasts `tookMs`, marks what it returned as published, and returns the number per subject. */
async function take(tookMs = 10): Promise<ScheduledBatch & { counts: Record<string, number> }> {
  const batch = await schedule.next(most, []);
  const ids = batch.rows.map(({ id }) => id);
  await test.db.tx(system, (t) =>
    t.execute(sql`update outbox set published_at = now() where id = any(${ids}::bigint[])`),
  );
  nowMs += tookMs;
  batch.done();
  const counts: Record<string, number> = {};
  for (const { subject } of batch.rows) counts[subject] = (counts[subject] ?? 0) + 1;
  return { ...batch, counts };
}

describe("the schedule of an outbox", () => {
  it("return everything in the order of its ids while little waits", async () => {
    await emit("events.s.a.t", 3);
    await emit("audit.tenancy.1", 2);
    await emit("events.s.a.t", 1, "late");
    const { rows, more } = await take();
    expect(rows.map(({ msgId }) => msgId)).toEqual([
      "events.s.a.t/0",
      "events.s.a.t/1",
      "events.s.a.t/2",
      "audit.tenancy.1/0",
      "audit.tenancy.1/1",
      "late/0",
    ]);
    expect(more).toBe(false);
  });

  it("include the messages of others in the first batch, however many of one organization precede them", async () => {
    await emit("events.s.big.device.offline", 3_000);
    await emit("events.s.small.t", 2);
    await emit("audit.tenancy.4", 2);
    await emit("tenancy.device.updated", 2);
    await emit("auth.key", 2);
    const { counts } = await take();
    expect(counts).toMatchObject({
      "events.s.small.t": 2,
      "audit.tenancy.4": 2,
      "tenancy.device.updated": 2,
      "auth.key": 2,
    });
    expect(counts["events.s.big.device.offline"]).toBeGreaterThan(0);
  });

  it("keep the order of each organization, of whatever types its events are", async () => {
    const emitted: string[] = [];
    for (let n = 0; n < 40; n++) {
      await emit("events.s.big.t", 30, `t${n}`);
      await emit("events.s.big.u", 30, `u${n}`);
      await emit("events.s.small.t", 1, `s${n}`);
      for (const name of [`t${n}`, `u${n}`]) emitted.push(...Array.from({ length: 30 }, (_, i) => `${name}/${i}`));
    }
    const published: string[] = [];
    for (let n = 0; n < 200 && published.length < emitted.length + 40; n++) {
      const { rows } = await take();
      published.push(...rows.map(({ msgId }) => msgId));
      nowMs += Math.min(1_000, schedule.throttledMs());
    }
    expect(published.filter((id) => !id.startsWith("s"))).toEqual(emitted);
    expect(published.filter((id) => id.startsWith("s"))).toEqual(Array.from({ length: 40 }, (_, n) => `s${n}/0`));
  });

  it("throttle a heavy emitter for four times as long as its batch took, while others continue", async () => {
    await emit("events.s.big.t", 3_000);
    await emit("events.s.small.t", 1);
    const first = await take(10);
    expect(first.counts).toEqual({ "events.s.big.t": 50, "events.s.small.t": 1 });
    expect(first.more).toBe(false);
    expect(schedule.throttledMs()).toBe(40);
    expect(rests).toBe(1);
    expect((await take(0)).rows).toEqual([]);
    await emit("events.s.small.t", 3);
    expect((await take(0)).counts).toEqual({ "events.s.small.t": 3 });
    nowMs += 40;
    expect(schedule.throttledMs()).toBe(Number.POSITIVE_INFINITY);
    expect((await take(10)).counts).toEqual({ "events.s.big.t": 50 });
  });

  it("never let a heavy emitter rest longer than a quarter of a second, however slow the stream was", async () => {
    await emit("events.s.big.t", 300);
    await emit("events.s.small.t", 1);
    await take(5_000);
    expect(schedule.throttledMs()).toBe(250);
  });

  it("are whole, one after the other, for a heavy emitter while it is the only one", async () => {
    await emit("events.s.big.t", 1_000);
    for (const rows of [256, 256, 256]) {
      const batch = await take();
      expect([batch.rows.length, batch.more]).toEqual([rows, true]);
    }
    expect((await take()).counts).toEqual({ "events.s.big.t": 232 });
    expect(rests).toBe(0);
  });

  it("are shared equally among heavy emitters, and none of them rests", async () => {
    for (const org of ["a", "b", "c", "d"]) await emit(`events.s.${org}.t`, 400);
    for (let n = 0; n < 6; n++) {
      const { counts, more } = await take();
      expect(counts).toEqual({ "events.s.a.t": 64, "events.s.b.t": 64, "events.s.c.t": 64, "events.s.d.t": 64 });
      expect(more).toBe(true);
    }
    expect(rests).toBe(0);
  });

  it("serve every emitter when hundreds are heavy", async () => {
    const subjects = Array.from({ length: 150 }, (_, n) => `events.s.o${n}.t`);
    for (const subject of subjects) await emit(subject, 20);
    const left = new Set(subjects);
    for (let n = 0; n < 100 && left.size > 0; n++) {
      const { counts } = await take();
      for (const subject of Object.keys(counts)) left.delete(subject);
      nowMs += Math.min(1_000, schedule.throttledMs());
    }
    expect([...left]).toEqual([]);
  });

  it("leave out partitions of an unavailable stream", async () => {
    await emit("events.s.big.t", 300);
    await emit("audit.tenancy.4", 300);
    const { rows } = await schedule.next(most, ["events"]);
    expect(new Set(rows.map(({ subject }) => subject))).toEqual(new Set(["audit.tenancy.4"]));
  });
});
