import { request as httpRequest } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Channel, type ChannelOptions, openChannel, syntheticEventStore } from "@muster/agent-sim";
import { linesOf } from "@muster/client";
import { until } from "@muster/testing";
import { agentMaker, type TestAgent } from "../support/agent-maker.ts";
import { type Api, api, type Reply, signIn } from "../support/client.ts";
import { auditedActions, newTenant, type Tenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";

let cluster: LentCluster;
let root: Api;
let token: string;
let tenant: Tenant;
let newAgent: (tenant: Tenant) => Promise<TestAgent>;
let second: string;
const open: Channel[] = [];
let silent: { channel: Channel; answer: Promise<{ result: Reply; ms: number }> };

beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  token = (await signIn(cluster)).accessToken;
  root = api(cluster, token);
  newAgent = await agentMaker(cluster);
  tenant = await newTenant(root);
  second = (await cluster.stack()).gateways[1]?.url ?? "";
  // The other tests run meanwhile.
  const { live, channel } = await online({ behave: "silent" });
  open.splice(open.indexOf(channel), 1);
  silent = { channel, answer: timed(() => root.call("GET", live)) };
  silent.answer.catch(() => undefined);
}, lendMs);
afterEach(() => {
  for (const channel of open.splice(0)) channel.stop();
});
afterAll(async () => {
  silent?.channel.stop();
  await cluster?.giveBack();
});

const powershell = "Microsoft-Windows-PowerShell/Operational";
const store = syntheticEventStore({ os: "windows", hostname: "WS-1", records: 500 });

/** An agent whose channel is open. */
async function online(change: Partial<ChannelOptions> = {}, agent?: TestAgent) {
  const made = agent ?? (await newAgent(tenant));
  const closed: number[] = [];
  const channel = openChannel({
    baseUrl: () => cluster.url,
    agentId: made.deviceId,
    token: () => made.token,
    store,
    retryMs: 200,
    onState: (state, code) => void (state === "closed" && closed.push(code)),
    ...change,
  });
  open.push(channel);
  await until("the channel", () => channel.connected);
  return { ...made, channel, closed, live: `/system-tools/devices/${made.deviceId}/eventlogs` };
}

const timed = async <T>(run: () => Promise<T>): Promise<{ result: T; ms: number }> => {
  const startedMs = performance.now();
  const result = await run();
  return { result, ms: performance.now() - startedMs };
};

describe("live event logs", () => {
  it("are listed, described, paged, filtered and read one by one, under every family of routes", async () => {
    const { deviceId, live } = await online();
    for (const path of [live, `/devices/${deviceId}/system-tools/eventlogs`]) {
      const { status, body } = await root.call("GET", path);
      expect([status, Object.keys(body)]).toEqual([200, ["data"]]);
      expect(body.data).toContainEqual(store.log(powershell));
    }
    for (const path of [live, `/devices/${deviceId}/system-tools/eventlogs`, `/devices/${deviceId}/eventlogs`]) {
      const log = `${path}/${encodeURIComponent(powershell.toLowerCase())}`;
      expect((await root.call("GET", log)).body).toEqual(store.log(powershell));
      const page = await root.call("GET", `${log}/events?page=2&limit=20&level=verbose&eventId=4104`);
      expect(page.body.pagination).toEqual({ page: 2, limit: 20, total: 250, nextCursor: null });
      const wanted = store.events(powershell, { page: 2, limit: 20, level: "verbose" });
      expect(page.body.data).toEqual(wanted?.events);
      expect((await root.call("GET", `${log}/events/77`)).body).toEqual(store.event(powershell, 77));
    }
    // Two lists, and descriptor, page and record in each family: reading a device's logs is on record.
    const read = () => auditedActions(root, "data.access", deviceId);
    await until("the audit rows", async () => (await read()).length >= 11, 60_000);
    expect(await read()).toEqual(Array(11).fill("data.access"));
  });

  it("are followed as they come, from a known record on, as one audit row, until the device disconnects", async () => {
    let newest = 500;
    const events: typeof store.events = (name, filter) => {
      const found = store.events(name, { ...filter, limit: 1 });
      const [first] = found?.events ?? [];
      if (!found || !first) return found;
      const shown = Array.from({ length: filter.limit }, (_, at) => ({ ...first, recordId: newest - at }));
      return { events: shown, total: newest };
    };
    const { deviceId, channel } = await online({ store: { ...store, events } });
    const path = `/api/v1/devices/${deviceId}/eventlogs/${encodeURIComponent(powershell)}/follow`;
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(`${cluster.url}${path}?after=498`, { headers });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
    const lines: string[] = [];
    for await (const line of linesOf<{ kind: string; event?: { recordId: number }; code?: string }>(reply.body)) {
      lines.push(`${line.kind} ${line.event?.recordId ?? line.code ?? ""}`.trim());
      if (lines.length === 3) newest = 501;
      if (line.event?.recordId === 501) channel.stop();
    }
    expect(lines).toEqual([
      "following",
      "event 499",
      "event 500",
      "event 501",
      expect.stringMatching(/^error device_/),
    ]);
    const read = () => auditedActions(root, "data.access", deviceId);
    await until("the audit row", async () => (await read()).length > 0, 60_000);
    expect(await read()).toEqual(["data.access"]);
    const refused = await fetch(`${cluster.url}${path.replace("PowerShell", "Nope")}`, { headers });
    expect(refused.status).toBe(503);
  });

  it.each(["GET", "HEAD"])("are no longer queried when the time of a %s that followed them is up", async (method) => {
    let queries = 0;
    const events: typeof store.events = (name, filter) => {
      queries += 1;
      return store.events(name, filter);
    };
    const { deviceId } = await online({ store: { ...store, events } });
    const path = `/api/v1/devices/${deviceId}/eventlogs/System/follow?seconds=1`;
    const reply = await fetch(`${cluster.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
    expect([reply.status, await reply.text()]).toEqual([200, method === "GET" ? '{"kind":"following"}\n' : ""]);
    await until("the device to be left alone", async () => {
      const before = queries;
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return before > 0 && queries === before;
    });
  });

  it("answer 404 for a log or a record that there is not, 400 for what cannot be one", async () => {
    const { live } = await online();
    const codeOf = async (path: string) => {
      const { status, body } = await root.call("GET", `${live}/${path}`);
      return `${status} ${body.code}`;
    };
    expect(await codeOf("Nope")).toBe("404 event_log_not_found");
    expect(await codeOf("Nope/events")).toBe("404 event_log_not_found");
    expect(await codeOf("System/events/501")).toBe("404 event_log_entry_not_found");
    expect(await codeOf("System/events/abc")).toBe("400 validation_failed");
    expect(await codeOf("System/events?level=fatal")).toBe("400 validation_failed");
    expect(await codeOf("System/events?eventId=x")).toBe("400 validation_failed");
    expect(await codeOf("System/events?startTime=yesterday")).toBe("400 validation_failed");
    const { body } = await root.call("GET", `${live}/System/events?endTime=zz`);
    expect(body.details).toEqual({ formErrors: [], fieldErrors: { endTime: ["Must be an ISO 8601 time"] } });
  });

  it("arrive at the agent with times in one form, whatever the caller's", async () => {
    const queries: unknown[] = [];
    const events: typeof store.events = (name, filter) => {
      queries.push([filter.startTime, filter.endTime]);
      return store.events(name, filter);
    };
    const { live } = await online({ store: { ...store, events } });
    const { status } = await root.call(
      "GET",
      `${live}/System/events?startTime=2026-01-02&endTime=2026-01-03T01:00:00%2B02:00`,
    );
    expect([status, queries]).toEqual([200, [["2026-01-02T00:00:00.000Z", "2026-01-02T23:00:00.000Z"]]]);
  });

  // How fast is measured by `npm run bench -- live`; here: without waiting for an answer that cannot come.
  it("are answered immediately when the device is offline", async () => {
    const { deviceId } = await newAgent(tenant);
    const path = `/system-tools/devices/${deviceId}/eventlogs`;
    const tookMs: number[] = [];
    for (let i = 0; i < 15; i++) {
      const { result, ms } = await timed(() => root.call("GET", path));
      expect([result.status, result.body.code]).toEqual([503, "device_offline"]);
      expect(result.headers.get("retry-after")).not.toBeNull();
      tookMs.push(ms);
    }
    expect(tookMs.sort((a, b) => a - b)[7]).toBeLessThan(1_000);
  });

  it("answer 502 when the agent answers garbage, and 429 to the fifth query immediately", async () => {
    const garbage = await online({ behave: "garbage" });
    const { status, body } = await root.call("GET", garbage.live);
    expect([status, body.code]).toEqual([502, "device_error"]);
    const slow = await online({ behave: "slow", slowMs: 4_000 });
    const replies = await Promise.all(Array.from({ length: 5 }, () => root.call("GET", slow.live)));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 200, 200, 429]);
  });

  it("cancel the query on the device when the caller leaves", async () => {
    const { live, channel } = await online({ behave: "slow", slowMs: 20_000 });
    const leaving = new AbortController();
    const answered = fetch(`${cluster.url}/api/v1${live}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    }).catch(() => null);
    await until("the query to be in flight", () => channel.inFlight === 1);
    leaving.abort();
    await answered;
    await until("the cancel", () => channel.cancelled === 1);
  });

  it("arrive whole when a page has 2 MB", async () => {
    const big = syntheticEventStore({ os: "windows", hostname: "WS-1", records: 500, padBytes: 21_000 });
    const { live } = await online({ store: big });
    const { status, body } = await root.call("GET", `${live}/System/events?limit=100`);
    expect(status).toBe(200);
    expect(JSON.stringify(body).length).toBeGreaterThan(2_000_000);
    expect(body.data).toEqual(big.events("System", { page: 1, limit: 100 })?.events);
  });
});

describe("several gateways", () => {
  it("close the older connection of a device, wherever it is: the newest answers", async () => {
    const agent = await newAgent(tenant);
    const stale = await online({ retryMs: 60_000 }, agent);
    const logs = syntheticEventStore({ os: "linux", hostname: "newest" });
    await online({ baseUrl: () => second, store: logs }, agent);
    await until("the older one to be closed", () => stale.closed.includes(4000));
    for (const url of [cluster.url, second]) {
      const reply = await api({ ...cluster, url }, token).call("GET", stale.live);
      expect([reply.status, reply.body.data]).toEqual([200, logs.logs()]);
    }
  });

  it("report that one died during a query; the agent reconnects to another and the next query works", async () => {
    let url = second;
    const { live, channel } = await online({ baseUrl: () => url, behave: "slow", slowMs: 1_500 });
    const answered = timed(() => root.call("GET", live));
    await until("the query to be in flight", () => channel.inFlight === 1);
    const { gateways } = await cluster.stack();
    process.kill(gateways[1]?.pid ?? 0, "SIGKILL");
    url = cluster.url;
    const { result, ms } = await answered;
    expect([result.status, result.body.code]).toEqual([502, "device_error"]);
    expect(ms).toBeLessThan(12_000);
    await until("the agent to be back", () => channel.connected);
    expect((await root.call("GET", live)).status).toBe(200);
    await until("the gateway to be back", async () => (await fetch(`${second}/health`).catch(() => null))?.ok, 60_000);
  }, 120_000);
});

describe("the channel", () => {
  it("is closed when its device is decommissioned, and not opened again", async () => {
    const { deviceId, channel, closed, live } = await online();
    expect((await root.call("DELETE", `/devices/${deviceId}`)).status).toBe(200);
    await until("the channel to be closed", () => closed.includes(4001), 30_000);
    expect(channel.connected).toBe(false);
    expect((await root.call("GET", live)).body.code).toBe("device_offline");
  });

  it("is refused to unauthenticated callers, to other devices' agents and to plain requests", async () => {
    const [mine, other] = [await newAgent(tenant), await newAgent(tenant)];
    expect(await upgrade(`/agents/${other.deviceId}/channel`, mine.token)).toBe(404);
    expect(await upgrade(`/agents/${mine.deviceId}/channel`, `agt_${"A".repeat(43)}`)).toBe(401);
    expect(await upgrade(`/agents/${mine.deviceId}/channel`, token)).toBe(403);
    expect(await upgrade("/devices", token)).toBe(404);
    expect((await mine.api.call("GET", `/agents/${mine.deviceId}/channel`)).status).toBe(426);
  });

  it("leaves requests that offer another upgrade what they were", async () => {
    expect(await upgrade("/devices?limit=1", token, "h2c")).toBe(200);
    const slug = `h2c-${Date.now()}`;
    expect(await upgrade("/orgs/partners", token, "h2c", JSON.stringify({ name: "By h2c", slug }))).toBe(201);
  });
});

describe("a live event log of a silent agent", () => {
  it("answers 504 after 30 s", async () => {
    const { result, ms } = await silent.answer;
    expect([result.status, result.body.code]).toEqual([504, "device_timeout"]);
    expect(ms).toBeGreaterThan(29_500);
    expect(ms).toBeLessThan(34_000);
  }, 60_000);
});

/** The status that an offer to upgrade is answered with. */
function upgrade(path: string, bearer: string, protocol = "websocket", body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${cluster.url}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${bearer}`,
        connection: "Upgrade",
        upgrade: protocol,
        ...(protocol === "websocket"
          ? { "sec-websocket-version": "13", "sec-websocket-key": "c2l4dGVlbiBieXRlcyEhIQ==" }
          : {}),
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
    });
    request.on("response", (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    });
    request.on("upgrade", (_reply, socket) => {
      socket.destroy();
      resolve(101);
    });
    request.on("error", reject);
    request.end(body);
  });
}
