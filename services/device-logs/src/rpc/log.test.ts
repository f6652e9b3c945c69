import { readFile } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { systemCaller } from "@muster/kit";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { toAppError } from "@muster/rpc";
import { applyTenants } from "@muster/service";
import { asOwner, callers, outcome } from "@muster/testing";
import { migrations } from "../config.ts";
import { readAgentLogs } from "../rules/entries.ts";
import { logRequestOf } from "../rules/log-request.ts";
import { logAppender } from "../store/appender.ts";
import { aLog, anEvent, startDeviceLogs, type TestDeviceLogs } from "../testing/device-logs.ts";

let service: TestDeviceLogs;
beforeAll(async () => {
  service = await startDeviceLogs();
});
afterAll(() => service?.stop());

const at = (text: string) => timestampFromDate(new Date(text));
const many = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

describe("diagnostic logs", () => {
  it("are stored 500 at a time with their count; 501 are refused and none is stored", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    expect(await outcome(agent.appendAgentLogs({ deviceId, logs: many(501, () => aLog()) }))).toBe(
      "validation_failed logs",
    );
    expect(await service.count("agent_log", deviceId)).toBe(0);
    expect(await agent.appendAgentLogs({ deviceId, logs: many(500, () => aLog()) })).toMatchObject({ received: 500 });
    expect(await agent.appendAgentLogs({ deviceId, logs: [] })).toMatchObject({ received: 0 });
    expect(await service.count("agent_log", deviceId)).toBe(500);
  });

  it("with one invalid entry of 500 are stored without it, which is refused with its index", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const withBad = (bad: object) => many(500, (i) => (i === 317 ? aLog(bad) : aLog()));
    for (const [bad, field] of [
      [{ level: "fatal" }, "level"],
      [{ component: "" }, "component"],
      [{ component: "x".repeat(101) }, "component"],
      [{ agentVersion: "x".repeat(51) }, "agentVersion"],
      [{ timestamp: undefined }, "timestamp"],
      [{ fields: [1] }, "fields"],
      [{ fields: { a: ["\0"] } }, "fields"],
      [{ fields: { a: "\ud800" } }, "fields"],
      [{ timestamp: "yesterday" }, "timestamp"],
      [{ timestamp: "0001-01-01T00:00:00Z" }, "timestamp"],
      [{ message: "a\0b" }, "message"],
    ] as const) {
      const { received, refused } = await agent.appendAgentLogs({ deviceId, logs: withBad(bad) });
      expect(received).toBe(499);
      expect(refused.map(({ index, errorsJson }) => [index, Object.keys(JSON.parse(errorsJson))])).toEqual([
        [317, [field]],
      ]);
      expect(await outcome(agent.appendAgentLogs({ deviceId, logs: [aLog(bad)] }))).toBe(
        `validation_failed logs.0.${field}`,
      );
    }
    expect(await service.count("agent_log", deviceId)).toBe(11 * 499);
  });

  it("with refused entries are answered the same when repeated, and stored once", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const logs = [aLog({ level: "fatal" }), aLog()];
    const answers = [await agent.appendAgentLogs({ deviceId, logs }), await agent.appendAgentLogs({ deviceId, logs })];
    for (const answer of answers) expect(answer).toMatchObject({ received: 1, refused: [{ index: 0 }] });
    expect(await service.count("agent_log", deviceId)).toBe(1);
  });

  it("from OpenTelemetry are stored once, 5,000 at a time; another device's are refused", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.port.client(DeviceLogService, service.agentOf(device));
    const logRecords = many(5_000, (i) => ({
      timeUnixNano: "1767323045678000000",
      body: { stringValue: `line ${i}` },
    }));
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    const wanted = { deviceId, body, json: true };
    for (const _ of many(2, () => 0)) {
      expect(await agent.appendOtlpLogs(wanted)).toMatchObject({ received: 5_000, refused: 0, firstError: "" });
    }
    expect(await service.count("agent_log", deviceId)).toBe(5_000);
    const other = service.port.client(DeviceLogService, service.agentOf(service.device()));
    expect(await outcome(other.appendOtlpLogs(wanted))).toBe("agent_not_found");
    const broken = { deviceId, body: Buffer.from("x"), json: false };
    expect(await outcome(agent.appendOtlpLogs(broken))).toMatch(/^validation_failed/);
  });

  it("answer another device's token, and users, as if the agent did not exist", async () => {
    const device = service.device();
    const { deviceId } = device;
    for (const caller of [service.agentOf(service.device()), service.readerOf(device), callers.platformAdmin()]) {
      expect(await outcome(service.logs(caller).appendAgentLogs({ deviceId, logs: [aLog()] }))).toBe("agent_not_found");
      expect(await outcome(service.logs(caller).appendEvents({ deviceId, events: [anEvent()] }))).toBe(
        "agent_not_found",
      );
    }
    expect((await service.count("agent_log", deviceId)) + (await service.count("event_log", deviceId))).toBe(0);
  });

  it("are accepted from an agent whose device is not in the copy yet", async () => {
    const device = service.device();
    const before = service.tenancy.queries;
    await service.logs(service.agentOf(device)).appendAgentLogs({ deviceId: device.deviceId, logs: [aLog()] });
    expect(service.tenancy.queries).toBe(before);
  });

  it("are stored under each device's own organization when many send concurrently", async () => {
    const devices = many(40, () => service.device());
    await Promise.all(
      devices.map((device, i) =>
        service
          .logs(service.agentOf(device))
          .appendAgentLogs({ deviceId: device.deviceId, logs: many(5, () => aLog({ message: `of ${i}` })) }),
      ),
    );
    for (const [i, device] of devices.entries()) {
      const { logs } = await service.logs(service.readerOf(device)).listAgentLogs({ deviceId: device.deviceId });
      expect(logs.map(({ message, orgId }) => `${message} ${orgId}`)).toEqual(many(5, () => `of ${i} ${device.orgId}`));
    }
  });

  it("filters by levels, component, time and text, newest first, with total and cursor", async () => {
    const device = service.device();
    const { deviceId } = device;
    const logs = many(30, (i) =>
      aLog({
        timestamp: `2026-01-01T00:00:${String(i).padStart(2, "0")}.000Z`,
        level: ["debug", "info", "warn", "error"][i % 4],
        component: i % 2 === 0 ? "ws" : "heartbeat",
        message: i === 7 ? "100% of a_b\\c DONE" : `line ${i}`,
        ...(i === 7 ? { fields: { n: 7 } } : {}),
      }),
    );
    await service.logs(service.agentOf(device)).appendAgentLogs({ deviceId, logs });
    const reader = service.logs(service.readerOf(device));
    const list = async (wanted: object) => {
      const { logs: found, page } = await reader.listAgentLogs({ deviceId, ...wanted });
      return { lines: found.map(({ message }) => message), total: Number(page?.total), next: page?.nextCursor ?? "" };
    };
    expect((await list({ levels: ["warn", "error"] })).total).toBe(14);
    expect((await list({ component: "ws" })).total).toBe(15);
    expect((await list({ component: "w" })).total).toBe(0);
    expect((await list({ since: at("2026-01-01T00:00:10.000Z"), until: at("2026-01-01T00:00:19.000Z") })).total).toBe(
      10,
    );
    for (const search of ["100%", "a_b\\c", "done"]) expect((await list({ search })).lines).toEqual([logs[7]?.message]);
    expect((await list({ search: "1_" })).total).toBe(0);
    const first = await list({ page: { page: 1, limit: 20 } });
    const second = await list({ page: { cursor: first.next, limit: 20 } });
    expect([...first.lines, ...second.lines]).toEqual(logs.map(({ message }) => message).reverse());
    expect(second.next).toBe("");
    expect((await list({ page: { page: 2, limit: 20 } })).lines).toEqual(second.lines);
    expect((await reader.listAgentLogs({ deviceId, search: "done" })).logs[0]?.fieldsJson).toBe('{"n": 7}');
    expect(await outcome(reader.listAgentLogs({ deviceId, levels: ["fatal"] }))).toBe("validation_failed level");
    expect(await outcome(reader.listAgentLogs({ deviceId, page: { cursor: "nonsense" } }))).toBe(
      "validation_failed cursor",
    );
  });
});

describe("a repeated request with diagnostic logs", () => {
  const start = () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const send = (logs: unknown, key?: string) =>
      agent.appendAgentLogs({ deviceId, logs, ...(key === undefined ? {} : { key }) });
    return { device, deviceId, send, stored: () => service.count("agent_log", deviceId) };
  };
  /** Lets the repeats of all earlier requests of a device be forgotten, as time would. */
  const later = (deviceId: string, minutes: number) =>
    asOwner(service.database, (owner) =>
      owner.query(
        "UPDATE agent_log_request SET expires_at = expires_at - $1 * interval '1 minute' WHERE device_id = $2",
        [minutes, deviceId],
      ),
    );

  it("is stored once and answered as the first, also ten times concurrently", async () => {
    const { send, stored } = start();
    const logs = many(3, (i) => aLog({ message: `line ${i}` }));
    for (const _ of many(2, () => 0)) expect(await send(logs)).toMatchObject({ received: 3 });
    expect(await stored()).toBe(3);
    const others = many(7, (i) => aLog({ message: `other ${i}` }));
    const answers = await Promise.all(many(10, () => send(others)));
    expect(answers.map(({ received }) => received)).toEqual(many(10, () => 7));
    expect(await stored()).toBe(10);
  });

  it("is recognised by every process, also while the first is being stored", async () => {
    const device = service.device();
    const { entries } = readAgentLogs(Buffer.from(JSON.stringify({ logs: many(5, () => aLog()) })));
    const logs = { owner: device, entries, request: logRequestOf(Buffer.from("one body"), null) };
    const appenders = many(4, () => logAppender(service.database.db));
    await Promise.all(many(20, (i) => appenders[i % 4]?.append(logs)));
    expect(await service.count("agent_log", device.deviceId)).toBe(5);
  });

  it("without a key is another request after 10 minutes, and from another device", async () => {
    const [one, two] = [start(), start()];
    const logs = [aLog()];
    for (const { send } of [one, two, one, two]) await send(logs);
    expect([await one.stored(), await two.stored()]).toEqual([1, 1]);
    await later(one.deviceId, 9);
    await one.send(logs);
    expect(await one.stored()).toBe(1);
    await later(one.deviceId, 1);
    await one.send(logs);
    expect(await one.stored()).toBe(2);
  });

  it("counts equal lines inside one body", async () => {
    const { send, stored } = start();
    expect(await send(many(4, () => aLog({ timestamp: "2026-01-01T00:00:00.000Z" })))).toMatchObject({ received: 4 });
    expect(await stored()).toBe(4);
  });

  it("under an Idempotency-Key is stored once a day; another key stores again, another body is refused", async () => {
    const { deviceId, send, stored } = start();
    const logs = [aLog(), aLog({ message: "more" })];
    for (const _ of many(2, () => 0)) expect(await send(logs, "k1")).toMatchObject({ received: 2 });
    await later(deviceId, 23 * 60);
    await send(logs, "k1");
    expect(await stored()).toBe(2);
    expect(await outcome(send([aLog({ message: "other" })], "k1"))).toBe("idempotency_conflict");
    await send(logs, "k2");
    expect(await stored()).toBe(4);
    await later(deviceId, 60);
    await send([aLog({ message: "other" })], "k1");
    expect(await stored()).toBe(5);
    const both = await Promise.all(["one", "two"].map((message) => outcome(send([aLog({ message })], "k3"))));
    expect(both.sort()).toEqual(["idempotency_conflict", "ok"]);
  });

  it("is stored when it was refused before", async () => {
    const { send, stored } = start();
    expect(await outcome(send([aLog({ level: "fatal" })], "k1"))).toBe("validation_failed logs.0.level");
    await send([aLog()], "k1");
    expect(await stored()).toBe(1);
  });
});

describe("rows dated more than a day ahead", () => {
  const ahead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

  it("are sorted by their arrival, too, when an earlier version stored them", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    for (const message of ["far", "right"]) await agent.appendAgentLogs({ deviceId, logs: [aLog({ message })] });
    const far = "2099-01-01T00:00:00.000Z";
    const migration = await readFile(new URL("0004_claimed_times_of_stored_rows.sql", migrations), "utf8");
    await asOwner(service.database, async (owner) => {
      await owner.query(
        `UPDATE agent_log SET "timestamp" = '${far}' WHERE message = 'far' AND device_id = '${deviceId}'`,
      );
      await owner.query(migration);
    });
    const { logs } = await service.logs(service.readerOf(device)).listAgentLogs({ deviceId });
    const shown = logs.map(({ message, timestamp }) => [message, timestamp && timestampDate(timestamp).toISOString()]);
    expect(shown).toEqual([
      ["right", expect.any(String)],
      ["far", far],
    ]);
  });

  it("are kept with their own time and sorted by their arrival, diagnostic logs and events", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const reader = service.logs(service.readerOf(device));
    const times = { old: ahead(-1), far: "2099-01-01T00:00:00.000Z", near: ahead(23), now: ahead(0.01) };
    for (const [message, timestamp] of Object.entries(times)) {
      await agent.appendAgentLogs({ deviceId, logs: [aLog({ message, timestamp })] });
      await agent.appendEvents({ deviceId, events: [anEvent({ message, timestamp, eventId: message })] });
    }
    const listed = async (range: { since?: Date; until?: Date } = {}) => {
      const [from, to] = [range.since, range.until].map((time) => (time ? timestampFromDate(time) : undefined));
      const pages: string[][] = [[], []];
      const own: string[] = [];
      for (const [at, page] of pages.entries()) {
        let cursor = "";
        do {
          const wanted = { limit: 1, cursor };
          const answer =
            at === 0
              ? await reader.listAgentLogs({
                  deviceId,
                  page: wanted,
                  ...(from ? { since: from } : {}),
                  ...(to ? { until: to } : {}),
                })
              : await reader.listEvents({ deviceId, page: wanted, ...(from ? { from } : {}), ...(to ? { to } : {}) });
          const [row] = "logs" in answer ? answer.logs : answer.events;
          if (row) page.push(row.message);
          if (row?.message === "far" && row.timestamp) own.push(timestampDate(row.timestamp).toISOString());
          cursor = answer.page?.nextCursor ?? "";
        } while (cursor !== "");
      }
      return { pages, own };
    };
    const order = ["near", "now", "far", "old"];
    expect(await listed()).toEqual({ pages: [order, order], own: [times.far, times.far] });
    // A range is one of arrivals for them.
    expect((await listed({ since: new Date(times.near) })).pages).toEqual([["near"], ["near"]]);
    expect((await listed({ since: new Date(times.old), until: new Date() })).pages).toEqual([
      ["far", "old"],
      ["far", "old"],
    ]);
  });
});

describe("event logs", () => {
  it("store one row of duplicates in one batch, a year apart and in ten concurrent batches, and count correctly", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const send = async (events: object[]) => (await agent.appendEvents({ deviceId, events })).inserted;
    expect(await send([anEvent(), anEvent({ message: "again" }), anEvent({ source: "Disk" })])).toBe(2);
    expect(await send([anEvent({ timestamp: "2025-01-01T00:00:00Z" })])).toBe(0);
    const batch = many(50, (i) => anEvent({ eventId: `parallel-${i}` }));
    const counts = await Promise.all(many(10, (i) => send(i % 2 === 0 ? batch : [...batch].reverse())));
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(50);
    expect(await service.count("event_log", deviceId)).toBe(52);
  });

  it("never count events without an id as repeats; an empty id is none", async () => {
    const device = service.device();
    const agent = service.logs(service.agentOf(device));
    const events = [anEvent({ eventId: "" }), anEvent({ eventId: "" })];
    expect((await agent.appendEvents({ deviceId: device.deviceId, events })).inserted).toBe(2);
    expect((await agent.appendEvents({ deviceId: device.deviceId, events })).inserted).toBe(2);
  });

  it("store the same event of two devices twice", async () => {
    for (const device of [service.device(), service.device()]) {
      const sent = { deviceId: device.deviceId, events: [anEvent()] };
      expect((await service.logs(service.agentOf(device)).appendEvents(sent)).inserted).toBe(1);
    }
  });

  it("leave one audit row per submission, by the agent, with the correct count", async () => {
    const device = service.device();
    const { deviceId, orgId } = device;
    const agent = service.logs(service.agentOf(device));
    await agent.appendEvents({ deviceId, events: [anEvent(), anEvent()] });
    await agent.appendEvents({ deviceId, events: [] });
    const audits = await service.auditsOf(deviceId);
    expect(
      audits.map(({ action, actorType, actorId, chainId, detailsJson }) => [
        action,
        actorType,
        actorId,
        chainId,
        JSON.parse(detailsJson),
      ]),
    ).toEqual([
      ["agent.eventlogs.submit", "agent", deviceId, orgId, { submitted: 2, inserted: 1 }],
      ["agent.eventlogs.submit", "agent", deviceId, orgId, { submitted: 0, inserted: 0 }],
    ]);
  });

  it("are refused from 1,001 on, and an invalid one is named; nothing is stored or audited", async () => {
    const device = service.device();
    const { deviceId } = device;
    const agent = service.logs(service.agentOf(device));
    const events = many(1_001, (i) => anEvent({ eventId: `${i}` }));
    expect(await outcome(agent.appendEvents({ deviceId, events }))).toBe("validation_failed events");
    const bad = many(1_000, (i) => anEvent({ eventId: `${i}`, ...(i === 999 ? { category: "other" } : {}) }));
    expect(await outcome(agent.appendEvents({ deviceId, events: bad }))).toBe("validation_failed events.999.category");
    expect(await service.count("event_log", deviceId)).toBe(0);
    expect(await service.auditsOf(deviceId)).toEqual([]);
    const sent = { deviceId, events: events.slice(0, 1_000) };
    expect((await agent.appendEvents(sent)).inserted).toBe(1_000);
  });

  it("are filtered by category, level, source and time; 500 rows a page at most", async () => {
    const device = service.device();
    const { deviceId } = device;
    const events = many(600, (i) =>
      anEvent({
        eventId: `${i}`,
        level: ["info", "warning", "error", "critical"][i % 4],
        category: ["security", "hardware", "application", "system"][i % 4],
        source: i < 10 ? "Disk" : "Other",
        timestamp: new Date(Date.UTC(2026, 0, 1) + i * 1_000).toISOString(),
      }),
    );
    await service.logs(service.agentOf(device)).appendEvents({ deviceId, events });
    const reader = service.logs(service.readerOf(device));
    const total = async (wanted: object) => Number((await reader.listEvents({ deviceId, ...wanted })).page?.total);
    expect(await total({ category: "security" })).toBe(150);
    expect(await total({ level: "critical", source: "Disk" })).toBe(2);
    expect(await total({ from: at("2026-01-01T00:09:50.000Z") })).toBe(10);
    const { events: page, page: info } = await reader.listEvents({ deviceId, page: { page: 1, limit: 9_999 } });
    expect([page.length, info?.limit, page[0]?.eventId]).toEqual([500, 500, "599"]);
    expect(await outcome(reader.listEvents({ deviceId, level: "fatal" }))).toBe("validation_failed level");
  });
});

describe("readers", () => {
  it("see the logs of a device that enrolled just now, before any event of it has arrived", async () => {
    const device = service.device();
    const reader = service.logs(service.readerOf(device));
    expect(await outcome(reader.listAgentLogs({ deviceId: device.deviceId }))).toBe("ok");
  });

  it("see them in concurrent requests for a device that is not in the copy yet", async () => {
    for (let round = 0; round < 10; round++) {
      const device = service.device();
      const reader = service.logs(service.readerOf(device));
      const outcomes = Array.from({ length: 8 }, () => outcome(reader.listAgentLogs({ deviceId: device.deviceId })));
      expect(await Promise.all(outcomes)).toEqual(Array(8).fill("ok"));
    }
  });

  it("get 404 for foreign, unknown and malformed ids, and unavailable when only tenancy could decide", async () => {
    const device = service.device();
    const foreignReader = service.logs(service.readerOf(service.device()));
    for (const deviceId of [device.deviceId, "00000000-0000-7000-8000-00000000dead", "x"]) {
      expect(await outcome(foreignReader.listAgentLogs({ deviceId }))).toBe("device_not_found");
      expect(await outcome(foreignReader.listEvents({ deviceId }))).toBe("device_not_found");
    }
    const unheard = service.device();
    service.tenancy.isAway = true;
    const call = service.logs(service.readerOf(unheard)).listEvents({ deviceId: unheard.deviceId });
    expect(await outcome(call)).toBe("unavailable");
    service.tenancy.isAway = false;
  });

  it("limited to sites see their sites' devices only, also after a device has moved", async () => {
    const device = service.device();
    const { deviceId, siteId } = device;
    await service.logs(service.agentOf(device)).appendAgentLogs({ deviceId, logs: [aLog()] });
    const limited = service.logs(service.readerOf(device, { siteIds: [siteId] }));
    expect((await limited.listAgentLogs({ deviceId })).logs).toHaveLength(1);
    await service.applyDevice({ ...device, siteId: "00000000-0000-7000-8000-000000000002" }, 2n);
    expect(await outcome(limited.listAgentLogs({ deviceId }))).toBe("device_not_found");
    await service.applyDevice(device, 1n);
    expect(await outcome(limited.listAgentLogs({ deviceId }))).toBe("device_not_found");
  });

  it("limited to a site see none of its devices once it is deleted; others still do", async () => {
    const device = service.device();
    const { deviceId, siteId, orgId, partnerId } = device;
    await service.logs(service.agentOf(device)).appendAgentLogs({ deviceId, logs: [aLog()] });
    const limited = service.logs(service.readerOf(device, { siteIds: [siteId] }));
    expect((await limited.listAgentLogs({ deviceId })).logs).toHaveLength(1);
    const deleted = create(TenantChangedSchema, {
      kind: "site",
      id: siteId,
      orgId,
      partnerId,
      version: 2n,
      deleted: true,
    });
    await service.database.db.tx({ caller: systemCaller("device-logs") }, (tx) => applyTenants(tx, [deleted]));
    expect(await outcome(limited.listAgentLogs({ deviceId }))).toBe("device_not_found");
    expect(await outcome(limited.listEvents({ deviceId }))).toBe("device_not_found");
    expect((await service.logs(service.readerOf(device)).listAgentLogs({ deviceId })).logs).toHaveLength(1);
  });

  it("need devices:read", async () => {
    const device = service.device();
    const reader = service.logs(service.readerOf(device, { permissions: ["organizations:read"] }));
    expect(await outcome(reader.listAgentLogs({ deviceId: device.deviceId }))).toBe("permission_denied");
    expect(await outcome(reader.listEvents({ deviceId: device.deviceId }))).toBe("permission_denied");
  });
});

describe("limits", () => {
  it("hold back a device that floods, with a Retry-After, and do not affect its neighbours", async () => {
    const small = await startDeviceLogs({ rowsPerMinute: 1_000 });
    try {
      const [loud, quiet] = [small.device(), small.device()];
      const send = (device: typeof loud) =>
        small.logs(small.agentOf(device)).appendAgentLogs({ deviceId: device.deviceId, logs: many(500, () => aLog()) });
      await send(loud);
      await send(loud);
      const refused = await send(loud).then(() => null, toAppError);
      expect(refused?.code).toBe("rate_limited");
      expect(refused?.retryAfterSeconds).toBeGreaterThan(20);
      expect(refused?.retryAfterSeconds).toBeLessThan(31);
      await send(quiet);
    } finally {
      await small.stop();
    }
  });

  it("end a query that takes too long, with the advice to narrow the time range", async () => {
    const hurried = await startDeviceLogs({ queryTimeoutMs: 100 });
    try {
      const device = hurried.device();
      await hurried.applyDevice(device, 1n);
      // The slowest possible query: one that waits.
      const { asOwner } = await import("@muster/testing");
      const answer = await asOwner(hurried.database, async (owner) => {
        await owner.query("BEGIN; LOCK TABLE agent_log IN ACCESS EXCLUSIVE MODE");
        const refused = await outcome(
          hurried.logs(hurried.readerOf(device)).listAgentLogs({ deviceId: device.deviceId }),
        );
        await owner.query("ROLLBACK");
        return refused;
      });
      expect(answer).toBe("time_range_too_wide");
    } finally {
      await hurried.stop();
    }
  });
});
