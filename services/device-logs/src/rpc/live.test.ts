import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { createLogger, decodeAgentFrame, encodeAgentFrame } from "@muster/kit";
import { outcome, type TestNats, testNats, until } from "@muster/testing";
import { startDeviceLogs, type TestDevice, type TestDeviceLogs } from "../testing/device-logs.ts";

const log = createLogger("test", "error");
let nats: TestNats;
let bus: Bus;
let gateway: Bus;
let service: TestDeviceLogs;

beforeAll(async () => {
  nats = await testNats();
  const open = (name: "device-logs" | "gateway") =>
    openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  [bus, gateway] = await Promise.all([open("device-logs"), open("gateway")]);
  service = await startDeviceLogs({ relay: bus.relay, liveTimeoutMs: 6_500, liveQueriesPerOrganization: 6 });
});
afterAll(async () => {
  await service?.stop();
  await bus?.close();
  await gateway?.close();
  await nats?.remove();
});

type Head = Record<string, unknown>;
type Talk = (query: Head, say: (head: Head, body?: Uint8Array) => void) => void;

/** A gateway that holds the device's channel and answers each query as scripted; records the frames it received. */
async function holding(device: TestDevice, epoch: number, talk: Talk) {
  const received: Head[] = [];
  const listening = gateway.relay.listen(`agent.rpc.${device.deviceId}`, (bytes, answer) => {
    const head = decodeAgentFrame(bytes)?.head ?? {};
    received.push(head);
    if (head.type === "query") talk(head, (more, body) => answer(encodeAgentFrame({ epoch, ...more }, body)));
  });
  await gateway.relay.flush();
  return { received, stop: listening.stop };
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const aDescriptor = {
  name: "System",
  displayName: "System",
  recordCount: 3,
  maxSize: 1_048_576,
  retentionDays: 7,
  lastWriteTime: "2026-01-01T00:00:00.000Z",
};
const anEntry = <C extends object>(change: C = {} as C) => ({
  recordId: 7,
  timeCreated: "2026-01-01T00:00:00.000Z",
  level: "error",
  source: "Disk",
  eventId: 51,
  message: "An error was detected",
  category: "None",
  user: null,
  computer: "HOST",
  ...change,
});
const answers =
  (value: unknown): Talk =>
  (_query, say) => {
    say({ type: "accepted" });
    say({ type: "chunk", seq: 0, last: true }, json(value));
  };

const read = (device: TestDevice) => service.live(service.readerOf(device));
const list = (device: TestDevice) => read(device).listEventLogs({ deviceId: device.deviceId });

describe("a live query", () => {
  it("is answered by the agent and leaves one data.access row with its parameters", async () => {
    const device = service.device();
    const held = await holding(device, 1, answers({ events: [anEntry()], total: 91 }));
    const wanted = {
      deviceId: device.deviceId,
      name: "Microsoft-Windows-PowerShell/Operational",
      page: 2,
      limit: 10,
      level: "error",
      eventId: 51n,
    };
    const reply = await read(device).listLiveEvents(wanted);
    expect(reply).toMatchObject({ page: 2, limit: 10, total: 91n });
    expect(reply.events[0]).toMatchObject({
      recordId: 7n,
      eventId: 51n,
      source: "Disk",
    });
    expect(held.received[0]).toMatchObject({
      operation: "eventlogs.events",
      params: { name: "Microsoft-Windows-PowerShell/Operational", page: 2, limit: 10, level: "error", eventId: 51 },
      principal: { type: "user" },
    });
    expect((held.received[0]?.params as object) ?? {}).not.toHaveProperty("source");
    const audits = await service.auditsOf(device.deviceId);
    expect(audits.map(({ action, orgId, detailsJson }) => [action, orgId, JSON.parse(detailsJson)])).toEqual([
      ["data.access", device.orgId, { operation: "eventlogs.events", ...(held.received[0]?.params as object) }],
    ]);
    held.stop();
  });

  it("is answered at once when the device is offline", async () => {
    const device = service.device({ status: "offline" } as never);
    await service.applyDevice(device, 1n, "offline");
    await outcome(list(device));
    const tookMs: number[] = [];
    for (let i = 0; i < 9; i++) {
      const startedMs = performance.now();
      expect(await outcome(list(device))).toBe("device_offline");
      tookMs.push(performance.now() - startedMs);
    }
    expect(tookMs.sort((a, b) => a - b)[4]).toBeLessThan(1_000);
    expect(await service.auditsOf(device.deviceId)).toEqual([]);
  });

  it("waits up to a second for a device that is online and just moving between gateways", async () => {
    const device = service.device();
    const listing = list(device);
    const held = await holding(device, 1, answers({ logs: [aDescriptor] }));
    expect((await listing).logs).toHaveLength(1);
    held.stop();
    const startedMs = performance.now();
    expect(await outcome(list(device))).toBe("device_offline");
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it("is assembled from chunks: 2 MB arrive completely", async () => {
    const device = service.device();
    const events = Array.from({ length: 100 }, (_, i) =>
      anEntry({ recordId: i, rawXml: `<Event n="${i}">${"ä".repeat(10_400)}</Event>` }),
    );
    const bytes = json({ events, total: 100 });
    expect(bytes.length).toBeGreaterThan(2_000_000);
    const held = await holding(device, 1, (_query, say) => {
      say({ type: "accepted" });
      for (let from = 0, seq = 0; from < bytes.length; from += 262_144, seq++) {
        say({ type: "chunk", seq, last: from + 262_144 >= bytes.length }, bytes.subarray(from, from + 262_144));
      }
    });
    const reply = await read(device).listLiveEvents({ deviceId: device.deviceId, name: "System", limit: 100 });
    expect(reply.events.map(({ rawXml }) => rawXml)).toEqual(events.map(({ rawXml }) => rawXml));
    held.stop();
  });

  // Tests that wait for seconds run concurrently.
  it.concurrent("times out on a silent agent whose gateway keeps sending keep-alives, and is cancelled", async () => {
    const device = service.device();
    const held = await holding(device, 1, (_query, say) => {
      say({ type: "accepted" });
      for (const ms of [2_000, 4_000, 6_000]) setTimeout(() => say({ type: "working" }), ms);
    });
    const startedMs = performance.now();
    expect(await outcome(list(device))).toBe("device_timeout");
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(6_400);
    await until("the cancel", () => held.received.some(({ type }) => type === "cancel"));
    expect(held.received[0]?.timeoutMs).toBeGreaterThan(4_000);
    held.stop();
  });

  it("is refused as the fifth of a device and the seventh of an organization, and accepted again when one has ended", async () => {
    const [device, neighbour] = [service.device(), service.device()];
    const sibling = service.device({ orgId: device.orgId, partnerId: device.partnerId });
    const waiting: (() => void)[] = [];
    const holdings = await Promise.all(
      [device, sibling, neighbour].map((each) =>
        holding(each, 1, (_query, say) => {
          say({ type: "accepted" });
          waiting.push(() => say({ type: "chunk", seq: 0, last: true }, json({ logs: [aDescriptor] })));
        }),
      ),
    );
    const first = Array.from({ length: 4 }, () => outcome(list(device)));
    await until("four in flight", () => waiting.length === 4);
    expect(await outcome(list(device))).toBe("device_busy");
    const more = [outcome(list(sibling)), outcome(list(sibling))];
    await until("six in flight", () => waiting.length === 6);
    expect(await outcome(list(sibling))).toBe("rate_limited");
    const other = outcome(list(neighbour));
    await until("the other organization's", () => waiting.length === 7);
    for (const answer of waiting.splice(0)) answer();
    expect(await Promise.all([...first, ...more, other])).toEqual(Array(7).fill("ok"));
    const again = outcome(list(device));
    await until("one more", () => waiting.length === 1);
    waiting[0]?.();
    expect(await again).toBe("ok");
    for (const { stop } of holdings) stop();
  });

  it.concurrent("fails clearly, long before its deadline, when the gateway dies during it", async () => {
    const device = service.device();
    const held = await holding(device, 1, (_query, say) => say({ type: "accepted" }));
    const startedMs = performance.now();
    expect(await outcome(list(device))).toBe("device_error");
    expect(performance.now() - startedMs).toBeLessThan(6_200);
    held.stop();
  });

  it.concurrent("is repeated when it reached a channel that was closing", async () => {
    const device = service.device();
    let queries = 0;
    const held = await holding(device, 1, (query, say) => {
      if (queries++ > 0) answers({ logs: [aDescriptor] })(query, say);
    });
    expect((await list(device)).logs).toHaveLength(1);
    held.stop();
  });

  it.each([
    [
      "no JSON",
      (_q: Head, say: (h: Head, b?: Uint8Array) => void) =>
        say({ type: "chunk", seq: 0, last: true }, Buffer.from("%%%")),
    ],
    ["another shape", answers({ logs: [{ name: 3 }] })],
    [
      "a missing part",
      (_q: Head, say: (h: Head, b?: Uint8Array) => void) =>
        say({ type: "chunk", seq: 1, last: true }, Buffer.from("{}")),
    ],
    ["an error of its own", (_q: Head, say: (h: Head, b?: Uint8Array) => void) => say({ type: "error", code: "boom" })],
    [
      "too much",
      (_q: Head, say: (h: Head, b?: Uint8Array) => void) => {
        for (let seq = 0; seq < 33; seq++) say({ type: "chunk", seq, last: false }, Buffer.alloc(262_144, 32));
      },
    ],
  ])("answers 502 to %s", async (_name, talk) => {
    const device = service.device();
    const held = await holding(device, 1, talk as Talk);
    expect(await outcome(list(device))).toBe("device_error");
    held.stop();
  });

  it.each(["event_log_not_found", "event_log_entry_not_found", "device_busy"])("forwards %s", async (code) => {
    const device = service.device();
    const held = await holding(device, 1, (_query, say) => say({ type: "error", code }));
    expect(await outcome(list(device))).toBe(code);
    held.stop();
  });

  it("uses the newest connection's answer while an older one lingers", async () => {
    const device = service.device();
    const stale = await holding(device, 5, (_query, say) => {
      say({ type: "accepted" });
      setTimeout(() => say({ type: "chunk", seq: 0, last: true }, json({ logs: [] })), 150);
    });
    const fresh = await holding(device, 6, (_query, say) => {
      say({ type: "accepted" });
      setTimeout(() => say({ type: "chunk", seq: 0, last: true }, json({ logs: [aDescriptor] })), 400);
    });
    expect((await list(device)).logs).toHaveLength(1);
    stale.stop();
    fresh.stop();
  });

  it("follows a log: new events, oldest first, with one data.access row, until the caller disconnects", async () => {
    const device = service.device();
    const { deviceId } = device;
    let newest = 7;
    const held = await holding(device, 1, (query, say) => {
      const { limit } = query.params as { limit: number };
      const events = Array.from({ length: Math.min(limit, newest) }, (_, i) => anEntry({ recordId: newest - i }));
      answers({ events, total: newest })(query, say);
    });
    const leaving = new AbortController();
    const following = read(device).followLiveEvents({ deviceId, name: "System" }, { signal: leaving.signal });
    const seen: bigint[][] = [];
    for await (const { events, skipped } of following) {
      expect(skipped).toBe(false);
      seen.push(events.map(({ recordId }) => recordId));
      if (seen.length === 1) newest = 9;
      if (seen.flat().length === 2 && newest === 9) newest = 10;
      if (seen.flat().length === 3) break;
    }
    leaving.abort();
    expect(seen.filter(({ length }) => length > 0)).toEqual([[8n, 9n], [10n]]);
    expect((await service.auditsOf(deviceId)).map(({ action }) => action)).toEqual(["data.access"]);
    held.stop();
  });

  it("follows from a record that the caller has, and reports when there are more than one answer holds", async () => {
    const device = service.device();
    const { deviceId } = device;
    const events = Array.from({ length: 100 }, (_, i) => anEntry({ recordId: 300 - i }));
    const held = await holding(device, 1, answers({ events, total: 300 }));
    for (const [afterRecordId, count, isSkipped] of [
      [298n, 2, false],
      [10n, 100, true],
    ] as const) {
      for await (const { events, skipped } of read(device).followLiveEvents({
        deviceId,
        name: "System",
        afterRecordId,
      })) {
        expect([events.length, skipped, events.at(-1)?.recordId]).toEqual([count, isSkipped, 300n]);
        break;
      }
    }
    held.stop();
  });

  it("follows no log of a device that is out of scope or offline, and ends when the device is deleted", async () => {
    const device = service.device();
    const { deviceId } = device;
    const followed = async (caller = service.readerOf(device), name = "System") => {
      for await (const _ of service.live(caller).followLiveEvents({ deviceId, name }));
    };
    const offline = service.device({ status: "offline" });
    expect(await outcome(followed(service.readerOf(service.device())))).toBe("device_not_found");
    expect(await outcome(followed(service.readerOf(device, { permissions: [] })))).toBe("permission_denied");
    expect(await outcome(followed(undefined, ""))).toBe("validation_failed name");
    const absent = read(offline).followLiveEvents({ deviceId: offline.deviceId, name: "System" });
    expect(await outcome(absent[Symbol.asyncIterator]().next())).toBe("device_offline");
    const held = await holding(device, 1, answers({ events: [anEntry()], total: 1 }));
    const following = outcome(followed());
    await until("the first question", () => held.received.length > 1);
    held.stop();
    expect(await following).toBe("device_offline");
  });

  it("requires permission to read the device", async () => {
    const device = service.device();
    const { deviceId } = device;
    const outsider = service.live(service.readerOf(service.device()));
    expect(await outcome(outsider.listEventLogs({ deviceId }))).toBe("device_not_found");
    const other = service.live(service.readerOf(device, { permissions: [] }));
    expect(await outcome(other.getLiveEvent({ deviceId, name: "System", recordId: 1n }))).toBe("permission_denied");
    expect(await outcome(read(device).getEventLog({ deviceId, name: "" }))).toBe("validation_failed name");
    expect(await outcome(read(device).listLiveEvents({ deviceId, name: "System", level: "fatal" }))).toBe(
      "validation_failed level",
    );
  });
});

describe("a caller who disconnects", () => {
  it("cancels the query on the device", async () => {
    const device = service.device();
    const held = await holding(device, 1, (_query, say) => say({ type: "accepted" }));
    const leaving = new AbortController();
    const { liveQuery } = await import("../clients/live-query.ts");
    const pending = liveQuery(
      { relay: () => bus.relay, timeoutMs: 5_000 },
      {
        deviceId: device.deviceId,
        operation: "eventlogs.list",
        params: {},
        principal: { type: "user", id: "somebody" },
        online: true,
        signal: leaving.signal,
      },
    );
    await until("the query", () => held.received.length > 0);
    leaving.abort();
    expect(await outcome(pending)).toBe("cancelled");
    await until("the cancel", () =>
      held.received.some(({ type, id }) => type === "cancel" && id === held.received[0]?.id),
    );
    held.stop();
  });
});
