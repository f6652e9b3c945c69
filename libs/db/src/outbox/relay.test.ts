import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { AppError, counter, createLogger, gauge, systemCaller } from "@muster/kit";
import { type Database, openDatabase } from "../client/database.ts";
import { sql } from "../client/statement.ts";
import { deadLetters } from "../tables/dead-letters.ts";
import { type TestDatabase, testDatabase, withClient } from "../testing/test-database.ts";
import { type OutboxTransport, type Relay, type RelayOptions, startRelay } from "./relay.ts";
import { leaseMs, relayStore } from "./relay-store.ts";

const log = createLogger("test", "silent");
const system = { caller: systemCaller("tenancy") };
const unavailable = () => new AppError("unavailable", "away");

/** Streams in memory, by first token of the subject, with what can go wrong. */
function memoryBus() {
  const streams = new Map<string, { created: string; messages: (string | null)[] }>();
  const received: string[] = [];
  const sent: unknown[] = [];
  const reconnects: (() => void)[] = [];
  let refuse: (subject: string) => Error | undefined = () => undefined;
  const streamOf = (name: string) => {
    const stream = streams.get(name) ?? { created: "c1", messages: [] };
    streams.set(name, stream);
    return stream;
  };
  const transport: OutboxTransport = {
    async publish(message) {
      const { subject, msgId } = message;
      const error = refuse(subject);
      if (error) throw error;
      const name = subject.split(".")[0]?.toUpperCase() ?? "";
      const stream = streamOf(name);
      received.push(msgId);
      sent.push(message);
      return { stream: name, created: stream.created, seq: stream.messages.push(msgId) };
    },
    async lookup(name, seq) {
      const stream = streamOf(name);
      return { created: stream.created, msgId: stream.messages[seq - 1] ?? null };
    },
    onReconnect: (listener) => void reconnects.push(listener),
  };
  return {
    transport,
    received,
    sent,
    messages: (name: string) => streamOf(name).messages,
    recreate: (name: string, created: string) => void streams.set(name, { created, messages: [] }),
    reconnect: () => reconnects.forEach((listener) => void listener()),
    refuse(decide: (subject: string) => Error | undefined) {
      refuse = decide;
    },
  };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let test: TestDatabase;
let bus: ReturnType<typeof memoryBus>;
let relays: Relay[];
let databases: Database[];

beforeEach(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
  bus = memoryBus();
  relays = [];
  databases = [];
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await Promise.all(databases.map((db) => db.close()));
  await test.drop();
});

const start = (options: Partial<RelayOptions> = {}): Relay => {
  const relay = startRelay({ db: test.db, transport: bus.transport, log, pollMs: 20, ...options });
  relays.push(relay);
  return relay;
};
const emit = (subject: string, ...msgIds: string[]) =>
  test.db.tx({ caller: null }, async (t) => {
    for (const msgId of msgIds) t.emit({ subject, msgId, body: Buffer.from(msgId) });
  });
const unpublished = async (): Promise<number> => {
  const rows = await test.db.read(system, sql`select id from outbox where published_at is null`);
  return rows.length;
};
const allPublished = () => until("everything is published", async () => (await unpublished()) === 0);
const isFree = async () => (await heldBy())?.holder === null;
const heldBy = async () => {
  const [row] = await test.db.read<{ holder: string | null; fence: number }>(
    system,
    sql`select holder, fence from relay_lease`,
  );
  return row;
};

/** Wake-ups between relays of one schema; `count` is their number. */
function memoryWakeUp() {
  const listeners = new Set<() => void>();
  const wakeUp = {
    count: 0,
    notify() {
      wakeUp.count += 1;
      for (const listener of listeners) setImmediate(listener);
    },
    listen(onWakeUp: () => void) {
      listeners.add(onWakeUp);
      return { stop: () => void listeners.delete(onWakeUp) };
    },
  };
  return wakeUp;
}

describe("a relay that another process wakes", () => {
  const aMinute = { pollMs: 60_000 };
  /** The database as another process of the service has it. */
  const otherProcess = () => {
    const db = openDatabase({ url: test.appUrl, max: 3, name: "tenancy", log });
    databases.push(db);
    return db;
  };
  const emitBy = (db: Database, msgId: string) =>
    db.tx({ caller: null }, async (t) => t.emit({ subject: "audit.a.1", msgId, body: Buffer.from(msgId) }));

  it("publishes at once what a process without the lease emits", async () => {
    const wakeUp = memoryWakeUp();
    start({ ...aMinute, wakeUp });
    await until("the lease", async () => (await heldBy())?.holder !== null);
    const db = otherProcess();
    start({ ...aMinute, wakeUp, db });
    await emit("audit.a.1", "own");
    await until("its own message", () => bus.received.includes("own"));
    await emitBy(db, "other's");
    await until("the other's message", () => bus.received.includes("other's"));
    expect(wakeUp.count).toBeGreaterThan(0);
  });

  it("publishes what an emitter could not, which returned the lease that another took since", async () => {
    const wakeUp = memoryWakeUp();
    const db = otherProcess();
    start({ ...aMinute, wakeUp, db, idleAfterMs: 0 });
    await until("the lease to be returned", async () => (await heldBy())?.fence !== undefined && (await isFree()));
    start({ ...aMinute, wakeUp });
    await emit("audit.a.1", "own");
    await until("its own message", () => bus.received.includes("own"));
    await emitBy(db, "other's");
    await until("the other's message", () => bus.received.includes("other's"));
  });

  it("wakes no other process for its own messages while it holds the lease", async () => {
    const wakeUp = memoryWakeUp();
    start({ ...aMinute, wakeUp });
    await emit("audit.a.1", "first");
    await until("the first message", () => bus.received.length === 1);
    const before = wakeUp.count;
    await emit("audit.a.1", "second");
    await until("the second message", () => bus.received.length === 2);
    expect(wakeUp.count).toBe(before);
  });
});

describe("the relay", () => {
  it("publishes a message whose row got the id of one that a failover lost", async () => {
    await emit("audit.a.1", "lost");
    const { publish } = bus.transport;
    bus.transport.publish = async (message) => {
      if (message.msgId === "lost") {
        // The primary ended before its standby had the row; the new primary assigns its id to another row.
        await withClient(test.superuserUrl, (client) =>
          client.query("update tenancy.outbox set msg_id = 'its successor' where msg_id = 'lost'"),
        );
      }
      return publish(message);
    };
    start();
    await until("the successor is published", () => bus.received.includes("its successor"));
    await allPublished();
    expect(bus.received).toEqual(["lost", "its successor"]);
  });

  it("publishes what was there before and what comes, in order, and marks it with the promise", async () => {
    await emit("audit.a.1", "m1", "m2");
    start();
    await until("the first messages", () => bus.received.length === 2);
    await emit("audit.a.1", "m3");
    await allPublished();
    expect(bus.received).toEqual(["m1", "m2", "m3"]);
    expect(
      await test.db.read(system, sql`select msg_id, stream, stream_created, stream_seq from outbox order by id`),
    ).toEqual([1, 2, 3].map((seq) => ({ msg_id: `m${seq}`, stream: "AUDIT", stream_created: "c1", stream_seq: seq })));
  });

  it("passes on subject, id, body and trace as they were emitted", async () => {
    start();
    const message = { subject: "audit.a.1", msgId: "o/1", body: Buffer.from([0, 255]), traceparent: "00-ab-cd-01" };
    await test.db.tx({ caller: null }, async (t) => t.emit(message));
    await allPublished();
    expect(bus.sent).toEqual([message]);
  });

  it("is woken by COMMIT and need not wait for its poll", async () => {
    start({ pollMs: 60_000 });
    await until("the lease", async () => (await heldBy())?.holder !== null);
    await emit("audit.a.1", "m1");
    await until("the message", () => bus.received.length === 1);
  });

  it("publishes more than a batch, all in order", async () => {
    const ids = Array.from({ length: 1_500 }, (_, i) => `m${i}`);
    await emit("audit.a.1", ...ids);
    start();
    await allPublished();
    expect(bus.received).toEqual(ids);
  });

  it("does not miss a row whose transaction committed after later ones", async () => {
    start();
    let commitSlow: () => void = () => {};
    let slowInserted: () => void = () => {};
    const mayCommit = new Promise<void>((resolve) => {
      commitSlow = resolve;
    });
    const inserted = new Promise<void>((resolve) => {
      slowInserted = resolve;
    });
    const slow = test.db.tx({ caller: null }, async (t) => {
      await t.execute(sql`insert into outbox (subject, msg_id, body) values ('audit.a.1', 'slow', '')`);
      slowInserted();
      await mayCommit;
    });
    await inserted;
    await emit("audit.a.1", "fast");
    await until("the later message", () => bus.received.includes("fast"));
    commitSlow();
    await slow;
    await until("the earlier message", () => bus.received.includes("slow"));
  });

  it("leaves the work to one of two, and the other goes on when that one stops", async () => {
    const first = start();
    const second = start();
    await emit("audit.a.1", "m1", "m2", "m3");
    await allPublished();
    expect(bus.received).toEqual(["m1", "m2", "m3"]);
    const before = await heldBy();
    await first.stop();
    await emit("audit.a.1", "m4");
    await allPublished();
    await second.stop();
    expect(bus.received).toEqual(["m1", "m2", "m3", "m4"]);
    expect(await heldBy()).toMatchObject({ holder: null });
    expect((await heldBy())?.fence).toBeGreaterThanOrEqual(before?.fence ?? 0);
  });

  it("returns its lease when it has nothing to do, and still publishes the next message at once", async () => {
    start({ idleAfterMs: 50 });
    await emit("audit.a.1", "m1");
    await allPublished();
    await until("no holder", async () => (await heldBy())?.holder === null);
    const fence = (await heldBy())?.fence ?? 0;
    const startedMs = performance.now();
    await emit("audit.a.1", "m2");
    await allPublished();
    // A relay that only polled would take 1.6 s at least.
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    expect(bus.received).toEqual(["m1", "m2"]);
    expect((await heldBy())?.fence).toBe(fence + 1);
  });

  it("shows when it last worked, and does not while messages wait for a holder that does nothing", async () => {
    const lastRound = gauge("muster_outbox_relay_last_success_timestamp_seconds", "");
    const worked = async () =>
      (await lastRound.get()).values.find(({ labels }) => labels.database === test.db.name)?.value ?? 0;
    const wakeUp = memoryWakeUp();
    await relayStore(test.db, "hangs").acquire();
    await emit("audit.a.1", "m1");
    const relay = start({ wakeUp });
    lastRound.set({ database: test.db.name }, 1);
    const before = wakeUp.count;
    await until("a wake-up that found the lease taken", async () => {
      relay.wake();
      return wakeUp.count > before + 1;
    });
    expect(await worked()).toBe(1);
    await allPublished();
    await until("it has worked", async () => (await worked()) > 1);
  });

  it("shows no dead letter before the first one", async () => {
    start();
    const { values } = await counter("muster_outbox_dead_letters_total", "").get();
    expect(values.map(({ labels }) => labels.database)).toContain(test.db.name);
  });

  /** A relay that published m1 and gave its lease back, with a spy on its queries of the stream. */
  const idleAfterOne = async () => {
    const lookup = jest.spyOn(bus.transport, "lookup");
    start({ idleAfterMs: 50 });
    await emit("audit.a.1", "m1");
    await allPublished();
    await until("no holder", async () => (await heldBy())?.holder === null);
    return lookup;
  };

  it("takes its own lease again without looking at what it was promised before it publishes", async () => {
    const lookup = await idleAfterOne();
    lookup.mockClear();
    await emit("audit.a.1", "m2");
    await allPublished();
    expect(bus.received).toEqual(["m1", "m2"]);
    expect(lookup).not.toHaveBeenCalled();
  });

  it("checks the newest promise when another relay held the lease while it was idle", async () => {
    const lookup = await idleAfterOne();
    const other = relayStore(test.db, "other");
    await other.release((await other.acquire()) ?? 0);
    lookup.mockClear();
    bus.messages("AUDIT").length = 0;
    await emit("audit.a.1", "m2");
    await until("both", () => ["m1", "m2"].every((id) => bus.messages("AUDIT").includes(id)));
    expect(lookup).toHaveBeenCalled();
    await allPublished();
  });

  it("finds a message whose emitter ended before its notification, while the lease is free", async () => {
    start({ idleAfterMs: 50 });
    await until("no holder", async () => (await heldBy())?.holder === null);
    await test.db.tx(system, (t) =>
      t.execute(sql`insert into outbox (subject, msg_id, body) values ('audit.a.1', 'm1', 'x')`),
    );
    await until("the message", () => bus.received.includes("m1"));
  });

  it("takes over an expired lease under a higher fence, and the former holder can mark nothing", async () => {
    const stalled = relayStore(test.db, "stalled");
    const fence = await stalled.acquire();
    expect(await relayStore(test.db, "other").acquire()).toBeNull();
    await withClient(test.superuserUrl, (admin) =>
      admin.query("update tenancy.relay_lease set expires_at = clock_timestamp() - interval '1 millisecond'"),
    );
    const next = await relayStore(test.db, "other").acquire();
    expect(next).toBe((fence ?? 0) + 1);
    await emit("audit.a.1", "m1");
    const [row] = await stalled.unpublished(1, []);
    if (!row) throw new Error("no row");
    const position = { ...row, stream: "AUDIT", created: "c1", seq: 1 };
    expect(await stalled.mark(fence ?? 0, [position])).toBe(false);
    expect(await stalled.renew(fence ?? 0)).toBe(false);
    expect(await stalled.bury(fence ?? 0, row, "x", 1)).toBe(false);
    expect(await stalled.unmark(fence ?? 0, "AUDIT")).toBe(0);
    await stalled.release(fence ?? 0);
    expect(await heldBy()).toEqual({ holder: "other", fence: next });
    expect(await unpublished()).toBe(1);
    expect(leaseMs).toBe(5_000);
  });

  it("publishes again what a stream lost from its tail, after a reconnect", async () => {
    start();
    await emit("audit.a.1", "m1", "m2", "m3");
    await emit("events.s.o.t", "e1");
    await allPublished();
    bus.messages("AUDIT").length = 1;
    bus.reconnect();
    await until("the lost messages", () => ["m2", "m3"].every((id) => bus.messages("AUDIT").includes(id)));
    await allPublished();
    expect(bus.received.filter((id) => id === "e1")).toHaveLength(1);
  });

  it("publishes again into a re-created stream, also without a reconnect", async () => {
    start({ readBackMs: 50 });
    await emit("audit.a.1", "m1", "m2");
    await allPublished();
    bus.recreate("AUDIT", "c2");
    await until("both again", () => bus.messages("AUDIT").join() === "m1,m2");
  });

  it("finds at its start what was lost while no relay ran", async () => {
    await start().stop();
    const first = start();
    await emit("audit.a.1", "m1", "m2");
    await allPublished();
    await first.stop();
    bus.recreate("AUDIT", "c2");
    start();
    await until("both again", () => bus.messages("AUDIT").join() === "m1,m2");
  });

  it("lets the messages of other streams go on while one stream is away, and loses none", async () => {
    bus.refuse((subject) => (subject.startsWith("events.") ? unavailable() : undefined));
    start();
    await emit("events.s.o.t", ...Array.from({ length: 300 }, (_, i) => `e${i}`));
    await emit("audit.a.1", "m1");
    await until("the neighbour", () => bus.received.includes("m1"));
    bus.refuse(() => undefined);
    await allPublished();
    expect(bus.received.filter((id) => id.startsWith("e"))).toHaveLength(300);
    expect(await deadLetters(test.db).list()).toEqual([]);
  });

  it("puts a message that is refused among the dead letters, and publishes its neighbours", async () => {
    bus.refuse((subject) => (subject === "audit.bad" ? new AppError("permission_denied", "not yours") : undefined));
    start();
    await emit("audit.bad", "bad");
    await emit("audit.a.1", "m1");
    await until("the neighbour", () => bus.received.includes("m1"));
    await allPublished();
    expect(await deadLetters(test.db).list()).toMatchObject([
      { subject: "audit.bad", msgId: "bad", reason: "not yours", attempts: 5 },
    ]);
  });

  it("deletes rows 10 minutes after their promise, not before", async () => {
    const store = relayStore(test.db, "x");
    await emit("audit.a.1", "old", "young", "waiting");
    await test.db.tx(system, (t) =>
      t.execute(sql`
        update outbox set published_at = now() - case msg_id when 'old' then interval '601 s' else interval '599 s' end
        where msg_id <> 'waiting'`),
    );
    expect(await store.clean()).toBe(false);
    expect(await test.db.read(system, sql`select msg_id as id from outbox order by outbox.id`)).toEqual([
      { id: "young" },
      { id: "waiting" },
    ]);
    expect(await store.backlog()).toMatchObject({ rows: 1 });
  });

  it("survives a database that ends its connections", async () => {
    start();
    await emit("audit.a.1", "m1");
    await allPublished();
    await withClient(test.superuserUrl, (admin) =>
      admin.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()`),
    );
    await until("an emit that succeeds", () =>
      emit("audit.a.1", "m2").then(
        () => true,
        () => false,
      ),
    );
    await until("the message", () => bus.received.includes("m2"));
  });
});
