import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { openBus } from "./open-bus.ts";
import { type NatsService, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";
import type { Bus, BusMessage, OutgoingMessage, Promised } from "./types.ts";

const log = createLogger("bus-test", "silent");
let nats: TestNats;
const open: Bus[] = [];

beforeEach(async () => {
  nats = await testNats();
});
afterEach(async () => {
  for (const bus of open.splice(0)) await bus.close();
  await nats.remove();
});

const busOf = async (name: NatsService) => {
  const bus = await openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  open.push(bus);
  return bus;
};
const text = (m: BusMessage) => new TextDecoder().decode(m.body);

/** Publishes as the relay does: again and again until promised. */
const insist = async (bus: Bus, message: OutgoingMessage): Promise<Promised> => {
  for (const end = Date.now() + 30_000; ; ) {
    try {
      return await bus.transport.publish(message);
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
};

/** Audit with one consumer, identity as publisher; `seen` grows with what the handler was given. */
const setUp = async () => {
  const audit = await busOf("audit");
  await audit.ensureStream("AUDIT");
  const identity = await busOf("identity");
  const seen = new Map<string, number>();
  audit.consume(
    {
      stream: "AUDIT",
      durable: "seal-0",
      filterSubject: "audit.*.0",
      maxAckPending: 50,
      batchMax: 50,
      batchBytes: 100_000,
      maxDeliver: 10,
      onDeadLetter: async () => {},
    },
    async (batch) => {
      for (const m of batch) seen.set(text(m), (seen.get(text(m)) ?? 0) + 1);
    },
  );
  const publish = async (from: number, to: number) => {
    const promises: Promised[] = [];
    for (let n = from; n <= to; n++) {
      const body = new TextEncoder().encode(`m${n}`);
      promises.push(await insist(identity, { subject: "audit.identity.0", msgId: `org/${n}`, body }));
    }
    await until(() => range(from, to).every((name) => seen.has(name)));
    return promises.at(-1) as Promised;
  };
  /** Resolves after the n-th reconnect from now on of the publishing bus. */
  const reconnected = () => new Promise<void>((resolve) => identity.transport.onReconnect(resolve));
  return { audit, identity, seen, publish, reconnected };
};
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`);

describe("after a restart of NATS", () => {
  it("goes on with nothing lost when the server was killed", async () => {
    const { identity, seen, publish, reconnected } = await setUp();
    const before = await publish(1, 5);
    const back = reconnected();
    await nats.kill9();
    await expect(
      identity.transport.publish({ subject: "audit.identity.0", msgId: "org/6", body: new TextEncoder().encode("m6") }),
    ).rejects.toMatchObject({ code: "unavailable" });
    expect(await identity.check()).toMatch(/^not connected since 2/);
    await nats.start();
    await back;
    expect(await identity.check()).toBe("ok");
    const after = await publish(6, 10);
    expect(after.created).toBe(before.created);
    expect(await identity.transport.lookup("AUDIT", before.seq)).toMatchObject({ msgId: "org/5" });
    expect([...seen.keys()].sort()).toEqual(range(1, 10).sort());
  });

  it("answers requests in flight at once when the connection is lost, not after their time-out", async () => {
    const { identity } = await setUp();
    process.kill(nats.pid(), "SIGSTOP");
    const message = { subject: "audit.identity.0", msgId: "org/1", body: new Uint8Array() };
    const started = performance.now();
    const published = identity.transport.publish(message).catch((error: unknown) => error);
    await nats.kill9();
    expect(await published).toMatchObject({ code: "unavailable" });
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it("waits at start until the server is there", async () => {
    await nats.stop();
    const opening = busOf("audit");
    await nats.start();
    expect(await (await opening).check()).toBe("ok");
  });

  it("re-creates stream and durable when the whole store was deleted", async () => {
    const { audit, identity, publish } = await setUp();
    const before = await publish(1, 5);
    await nats.kill9();
    rmSync(nats.storeDir, { recursive: true });
    await nats.start();
    const after = await publish(6, 10);
    expect(after.created).not.toBe(before.created);
    expect(after.seq).toBe(5);
    expect((await identity.transport.lookup("AUDIT", before.seq)).created).toBe(after.created);
    expect(await audit.check()).toBe("ok");
  });

  it("recovers when the store is replaced by an older copy, and reports the newest promise as lost", async () => {
    const { identity, publish, reconnected } = await setUp();
    await publish(1, 5);
    await nats.stop();
    const copy = `${nats.storeDir}-copy`;
    cpSync(nats.storeDir, copy, { recursive: true });
    await nats.start();
    const promised = await publish(6, 10);
    const back = reconnected();
    await nats.kill9();
    rmSync(nats.storeDir, { recursive: true });
    cpSync(copy, nats.storeDir, { recursive: true });
    await nats.start();
    await back;
    expect(await identity.transport.lookup("AUDIT", promised.seq)).toEqual({ created: promised.created, msgId: null });
    const after = await publish(11, 20);
    expect(after.created).toBe(promised.created);
  });

  it("recovers when only the message files are older: the durable is ahead of its stream", async () => {
    const { identity, publish, reconnected, seen } = await setUp();
    await publish(1, 5);
    await nats.stop();
    const messages = join(nats.storeDir, "jetstream", "AUDIT", "streams", "AUDIT", "msgs");
    const copy = `${nats.storeDir}-msgs`;
    cpSync(messages, copy, { recursive: true });
    await nats.start();
    const promised = await publish(6, 10);
    const back = reconnected();
    await nats.stop();
    rmSync(messages, { recursive: true });
    cpSync(copy, messages, { recursive: true });
    await nats.start();
    await back;
    expect(await identity.transport.lookup("AUDIT", promised.seq)).toMatchObject({ msgId: null });
    // What the relay does next: the marked rows again, then new ones.
    await publish(6, 13);
    expect([...seen.keys()].sort()).toEqual(range(1, 13).sort());
  });
});

describe("following AUTH", () => {
  const publish = (bus: Bus, n: number) =>
    insist(bus, { subject: "auth.session", msgId: `session/${n}`, body: new TextEncoder().encode(`m${n}`) });
  const follow = async () => {
    const identity = await busOf("identity");
    await identity.ensureStream("AUTH");
    await publish(identity, 0);
    const gateway = await busOf("gateway");
    const seen: string[] = [];
    gateway.follow(
      { stream: "AUTH", filterSubject: "auth.>" },
      { onMessage: (m) => void seen.push(text(m)), onGap: () => void seen.push("gap") },
    );
    await until(() => seen.length === 1);
    return { identity, gateway, seen };
  };

  it("reports a gap when it begins and then delivers every later message once, in order", async () => {
    const { identity, seen } = await follow();
    for (let n = 1; n <= 30; n++) await publish(identity, n);
    await until(() => seen.length === 31);
    expect(seen).toEqual(["gap", ...range(1, 30)]);
  });

  it("goes on without a gap after NATS was killed and nothing was lost", async () => {
    const { identity, gateway, seen } = await follow();
    await publish(identity, 1);
    await until(() => seen.length === 2);
    await nats.kill9();
    await nats.start();
    for (let n = 2; n <= 5; n++) await publish(identity, n);
    await until(() => seen.length === 6);
    expect(seen).toEqual(["gap", ...range(1, 5)]);
    expect(await gateway.check()).toBe("ok");
  });

  it("reports a gap when the stream was re-created", async () => {
    const { identity, seen } = await follow();
    await publish(identity, 1);
    await until(() => seen.length === 2);
    await nats.kill9();
    rmSync(nats.storeDir, { recursive: true });
    await nats.start();
    await until(() => seen.length === 3);
    await publish(identity, 2);
    await until(() => seen.includes("m2"));
    expect(seen).toEqual(["gap", "m1", "gap", "m2"]);
  });
});

describe("a durable on another service's stream", () => {
  const publish = (bus: Bus, n: number) =>
    insist(bus, { subject: "tenancy.site.created", msgId: `site/${n}`, body: new TextEncoder().encode(`m${n}`) });
  const consume = (bus: Bus) => {
    const seen = new Set<string>();
    const settings = { stream: "TENANCY", durable: "identity", filterSubject: "tenancy.>", maxAckPending: 50 } as const;
    const limits = { batchMax: 50, batchBytes: 100_000, maxDeliver: 10, onDeadLetter: async () => {} };
    const consumer = bus.consume({ ...settings, ...limits }, async (batch) => {
      for (const m of batch) seen.add(text(m));
    });
    return { seen, consumer };
  };
  const ownerWithStream = async () => {
    const tenancy = await busOf("tenancy");
    await tenancy.ensureStream("TENANCY");
    return tenancy;
  };

  it("is created by the stream's owner, again when the whole store was deleted", async () => {
    const tenancy = await ownerWithStream();
    const identity = await busOf("identity");
    const { seen } = consume(identity);
    await publish(tenancy, 1);
    await until(() => seen.has("m1"));
    await nats.kill9();
    rmSync(nats.storeDir, { recursive: true });
    await nats.start();
    await publish(tenancy, 2);
    await until(() => seen.has("m2"));
    expect(await identity.check()).toBe("ok");
  });

  it("is requested until the owner is there, and its absence is reported as text", async () => {
    const first = await ownerWithStream();
    await publish(first, 1);
    await first.close();
    open.splice(open.indexOf(first), 1);
    const identity = await busOf("identity");
    const { seen } = consume(identity);
    let report = "";
    for (const end = Date.now() + 20_000; !report.includes("no answer") && Date.now() < end; ) {
      report = await identity.check();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(report).toBe("consumer TENANCY/identity: durable identity of TENANCY, which tenancy creates: no answer");
    await ownerWithStream();
    await until(() => seen.has("m1"));
    expect(await identity.check()).toBe("ok");
  });

  it("is replaced by the owner when only the message files are older", async () => {
    const tenancy = await ownerWithStream();
    const { seen, consumer } = consume(await busOf("identity"));
    const upTo = async (from: number, to: number) => {
      for (let n = from; n <= to; n++) await publish(tenancy, n);
      await until(() => range(from, to).every((name) => seen.has(name)));
    };
    await upTo(1, 5);
    await nats.stop();
    const messages = join(nats.storeDir, "jetstream", "TENANCY", "streams", "TENANCY", "msgs");
    const copy = `${nats.storeDir}-msgs`;
    cpSync(messages, copy, { recursive: true });
    await nats.start();
    await upTo(6, 10);
    await nats.stop();
    rmSync(messages, { recursive: true });
    cpSync(copy, messages, { recursive: true });
    await nats.start();
    let delivered = 10;
    for (const end = Date.now() + 30_000; delivered > 5 && Date.now() < end; ) {
      delivered = (await consumer.floor().catch(() => null))?.delivered ?? 10;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await upTo(11, 16);
  });
});
