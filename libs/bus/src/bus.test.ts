import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError, createLogger } from "@muster/kit";
import { openBus } from "./open-bus.ts";
import { type NatsService, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";
import type { Bus, BusMessage, ConsumeOptions } from "./types.ts";

const log = createLogger("bus-test", "silent");
let nats: TestNats;
const open: Bus[] = [];

beforeAll(async () => {
  nats = await testNats();
});
afterEach(async () => {
  for (const bus of open.splice(0)) await bus.close();
});
afterAll(() => nats.remove());

const busOf = async (name: NatsService) => {
  const bus = await openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  open.push(bus);
  return bus;
};
let partitions = 0;
/** A partition of AUDIT that no other test of this file uses: its consumer sees only its own messages. */
const nextPartition = () => partitions++;
const settings = (partition: number, o: Partial<ConsumeOptions> = {}): ConsumeOptions => ({
  stream: "AUDIT",
  durable: `seal-${partition}`,
  filterSubject: `audit.*.${partition}`,
  maxAckPending: 10,
  batchMax: 10,
  batchBytes: 100_000,
  maxDeliver: 3,
  onDeadLetter: async () => {},
  ...o,
});
const message = (partition: number, text: string, service = "identity") => ({
  subject: `audit.${service}.${partition}`,
  msgId: `org/${partition}-${text.slice(0, 40)}`,
  body: new TextEncoder().encode(text),
});
const text = (m: BusMessage) => new TextDecoder().decode(m.body);

describe("publishing", () => {
  it("promises stream, creation time and position, and reads the promise back", async () => {
    const audit = await busOf("audit");
    await audit.ensureStream("AUDIT");
    const identity = await busOf("identity");
    const p = nextPartition();
    const first = await identity.transport.publish(message(p, "a"));
    const second = await identity.transport.publish(message(p, "b"));
    expect(first).toMatchObject({ stream: "AUDIT", created: expect.stringMatching(/^\d{4}-/) });
    expect(second).toEqual({ ...first, seq: first.seq + 1 });
    expect(await identity.transport.lookup("AUDIT", first.seq)).toEqual({
      created: first.created,
      msgId: `org/${p}-a`,
    });
    expect(await identity.transport.lookup("AUDIT", 1_000_000)).toEqual({ created: first.created, msgId: null });
  });

  it("stores a repeat once and promises its first position again", async () => {
    await (await busOf("audit")).ensureStream("AUDIT");
    const identity = await busOf("identity");
    const p = nextPartition();
    const first = await identity.transport.publish(message(p, "same"));
    expect(await identity.transport.publish(message(p, "same"))).toEqual(first);
  });

  it("refuses at once what the permission file refuses, and stays usable", async () => {
    await (await busOf("audit")).ensureStream("AUDIT");
    const identity = await busOf("identity");
    const p = nextPartition();
    const started = performance.now();
    const refused = identity.transport.publish(message(p, "forged", "tenancy"));
    await expect(refused).rejects.toMatchObject({ name: "AppError", code: "permission_denied" });
    expect(performance.now() - started).toBeLessThan(2_000);
    await expect(identity.transport.publish(message(p, "own"))).resolves.toMatchObject({ stream: "AUDIT" });
  });

  it("answers unavailable while the stream is missing and works once its owner made it", async () => {
    const tenancy = await busOf("tenancy");
    const published = () =>
      tenancy.transport.publish({ subject: "tenancy.organization.created", msgId: "o/1", body: new Uint8Array() });
    await expect(published()).rejects.toMatchObject({ code: "unavailable" });
    await tenancy.ensureStream("TENANCY");
    await expect(published()).resolves.toMatchObject({ stream: "TENANCY", seq: 1 });
  });

  it("refuses to make a stream that the service does not own", async () => {
    const identity = await busOf("identity");
    await expect(identity.ensureStream("AUDIT")).rejects.toThrow(/not the owner/);
  });
});

describe("consuming", () => {
  const setUp = async () => {
    const audit = await busOf("audit");
    await audit.ensureStream("AUDIT");
    const identity = await busOf("identity");
    const partition = nextPartition();
    const publish = (...texts: string[]) =>
      Promise.all(texts.map((t) => identity.transport.publish(message(partition, t))));
    return { audit, publish, partition };
  };

  it("hands over what is pending in batches, once, with message id and trace context", async () => {
    const { audit, publish, partition } = await setUp();
    await publish(...Array.from({ length: 25 }, (_, i) => `m${i}`));
    const batches: BusMessage[][] = [];
    const consumer = audit.consume(settings(partition), async (batch) => void batches.push(batch));
    await until(() => batches.flat().length === 25);
    await audit.transport.publish({
      ...message(partition, "traced", "audit"),
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    });
    await until(() => batches.flat().length === 26);
    expect(batches.map((b) => b.length)).toEqual([10, 10, 5, 1]);
    expect(batches.flat()[3]).toMatchObject({ msgId: `org/${partition}-m3`, deliveries: 1, traceparent: null });
    expect(batches.flat()[25]?.traceparent).toBe("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    await consumer.stop();
    expect(await audit.check()).toBe("ok");
  });

  it("requests nothing from the server while its process has no room for it", async () => {
    const { audit, partition } = await setUp();
    const batches: BusMessage[][] = [];
    const rooms: (() => void)[] = [];
    const room = () => new Promise<void>((resolve) => void rooms.push(resolve));
    const consumer = audit.consume(settings(partition, { room }), async (batch) => void batches.push(batch));
    await until(() => rooms.length === 1);
    const { seq } = await audit.transport.publish(message(partition, "waits", "audit"));
    expect((await consumer.floor()).delivered).toBeLessThan(seq);
    rooms[0]?.();
    await until(() => batches.length === 1 && rooms.length === 2);
    expect(batches.flat().map(text)).toEqual(["waits"]);
    const stopped = consumer.stop();
    rooms[1]?.();
    await stopped;
  });

  it("keeps a batch within its bytes, and takes a message larger than that alone", async () => {
    const { audit, publish, partition } = await setUp();
    const large = "x".repeat(60_000);
    await publish(`a${large}`, `b${large}`, "c", `d${large}${large}`, "e");
    const batches: string[][] = [];
    audit.consume(settings(partition), async (batch) => void batches.push(batch.map((m) => text(m).slice(0, 1))));
    await until(() => batches.flat().length === 5);
    expect(batches.flat()).toEqual(["a", "b", "c", "d", "e"]);
    expect(batches[0]).toEqual(["a"]);
    expect(batches).toContainEqual(["d"]);
  });

  it("delivers again what the handler failed on, and acknowledges what succeeded", async () => {
    const { audit, publish, partition } = await setUp();
    let failures = 2;
    const done: string[] = [];
    audit.consume(settings(partition), async (batch) => {
      if (failures-- > 0) throw new Error("not now");
      done.push(...batch.map(text));
    });
    await publish("a", "b", "c");
    await until(() => done.length >= 3);
    expect(done.sort()).toEqual(["a", "b", "c"]);
  });

  it("dead-letters only the message that keeps failing; its neighbours are handled", async () => {
    const { audit, publish, partition } = await setUp();
    await publish("a", "bad", "b", "c");
    const done: string[] = [];
    const deadLetters: { text: string; reason: string; deliveries: number }[] = [];
    const onDeadLetter = async (m: BusMessage, reason: string) =>
      void deadLetters.push({ text: text(m), reason, deliveries: m.deliveries });
    audit.consume(settings(partition, { onDeadLetter }), async (batch) => {
      if (batch.some((m) => text(m) === "bad")) throw new Error("cannot be sealed");
      done.push(...batch.map(text));
    });
    await until(() => deadLetters.length === 1 && done.length === 3);
    expect(done.sort()).toEqual(["a", "b", "c"]);
    expect(deadLetters).toEqual([{ text: "bad", reason: "cannot be sealed", deliveries: 3 }]);
    await publish("d");
    await until(() => done.length === 4);
    expect(deadLetters).toHaveLength(1);
  });

  it("waits while a dependency is unavailable, however often, and dead-letters no message for it", async () => {
    const { audit, publish, partition } = await setUp();
    let away = 6;
    const done: BusMessage[] = [];
    const deadLetters: BusMessage[] = [];
    const onDeadLetter = async (m: BusMessage) => void deadLetters.push(m);
    audit.consume(settings(partition, { onDeadLetter }), async (batch) => {
      if (away-- > 0) throw new AppError("unavailable", "database is away");
      done.push(...batch);
    });
    await publish("a", "b");
    await until(() => done.length >= 2);
    expect(done.map(text).sort()).toEqual(["a", "b"]);
    expect(deadLetters).toEqual([]);
  });

  it("does not acknowledge a dead letter before it is stored", async () => {
    const { audit, publish, partition } = await setUp();
    let refusals = 2;
    const stored: string[] = [];
    const onDeadLetter = async (m: BusMessage) => {
      if (refusals-- > 0) throw new AppError("unavailable", "database is away");
      stored.push(text(m));
    };
    audit.consume(settings(partition, { onDeadLetter, maxDeliver: 1 }), async () => {
      throw new Error("bad");
    });
    await publish("x");
    await until(() => stored.length === 1);
    expect(stored).toEqual(["x"]);
  });

  it("returns at stop what it could not handle, so that another replica takes it", async () => {
    const { audit, publish, partition } = await setUp();
    let held = 0;
    const first = audit.consume(settings(partition), async (batch) => {
      held = batch.length;
      throw new AppError("unavailable", "database is away");
    });
    await publish("a");
    await until(() => held === 1);
    await first.stop();
    const done: string[] = [];
    audit.consume(settings(partition), async (batch) => void done.push(...batch.map(text)));
    await until(() => done.length === 1);
    expect(done).toEqual(["a"]);
  });

  it("settles each message by itself: a later one settled by another replica does not settle an earlier one", async () => {
    const { audit, publish, partition } = await setUp();
    const other = await busOf("audit");
    const seen: string[] = [];
    let fail = (_error: Error) => {};
    const held = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const handler = async (batch: BusMessage[]) => {
      const isFirst = seen.length === 0;
      seen.push(...batch.map(text));
      if (isFirst) await held;
    };
    await publish("m1");
    audit.consume(settings(partition), handler);
    await until(() => seen.length === 1);
    other.consume(settings(partition), handler);
    await publish("m2");
    await until(() => seen.includes("m2"));
    await publish("m3");
    // Pulled after m2 was acknowledged.
    await until(() => seen.includes("m3"));
    fail(new Error("killed in the middle of its batch"));
    await until(() => seen.filter((name) => name === "m1").length === 2);
  });

  it("shares a durable between replicas: each message reaches one of them", async () => {
    const { audit, publish, partition } = await setUp();
    const other = await busOf("audit");
    const done: string[] = [];
    for (const bus of [audit, other]) {
      bus.consume(settings(partition), async (batch) => void done.push(...batch.map(text)));
    }
    const texts = Array.from({ length: 100 }, (_, i) => `m${String(i).padStart(3, "0")}`);
    await publish(...texts);
    await until(() => done.length >= 100);
    expect(done.sort()).toEqual(texts);
  });
});
