import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker, type TestAgent } from "../support/agent-maker.ts";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { auditedActions, newTenant, type Tenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let cluster: Cluster;
let root: Api;
let newAgent: (tenant: Tenant) => Promise<TestAgent>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
  newAgent = await agentMaker(cluster);
}, 180_000);

const at = "2026-01-02T03:04:05.678Z";
const aLog = (change: object = {}) => ({
  timestamp: at,
  level: "info",
  component: "updater",
  message: "checked",
  ...change,
});
const anEvent = (change: object = {}) => ({
  timestamp: at,
  source: "Disk",
  eventId: "51",
  message: "paging error",
  ...change,
});
const many = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
const totalOf = (body: Record<string, unknown>) => (body.pagination as { total: number }).total;

type Sent = { path?: string; type?: string; isGzip?: boolean };

async function sendBytes({ deviceId, token }: TestAgent, bytes: Buffer, sent: Sent = {}): Promise<Response> {
  const { path = "logs", type = "application/json", isGzip = false } = sent;
  const headers = { authorization: `Bearer ${token}`, "content-type": type };
  return fetch(`${cluster.url}/api/v1/agents/${deviceId}/${path}`, {
    method: "POST",
    headers: { ...headers, ...(isGzip ? { "content-encoding": "gzip" } : {}) },
    body: bytes,
  });
}

const sendGzip = (agent: TestAgent, bytes: Buffer) => sendBytes(agent, bytes, { isGzip: true });
const countOf = async ({ deviceId }: TestAgent) =>
  totalOf((await root.call("GET", `/devices/${deviceId}/diagnostic-logs`)).body);

describe("diagnostic logs", () => {
  it("are taken from an agent that enrolled this moment, and shown with every field", async () => {
    const tenant = await newTenant(root);
    const agent = await newAgent(tenant);
    const sent = await agent.api.call("POST", `/agents/${agent.deviceId}/logs`, {
      logs: [aLog({ fields: { attempt: 2 }, agentVersion: "1.4.0" })],
    });
    expect([sent.status, sent.body]).toEqual([201, { received: 1, refused: [] }]);
    const { status, body } = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs`);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id: expect.any(String),
          deviceId: agent.deviceId,
          orgId: tenant.orgId,
          timestamp: at,
          level: "info",
          component: "updater",
          message: "checked",
          fields: { attempt: 2 },
          agentVersion: "1.4.0",
          createdAt: expect.stringMatching(/Z$/),
        },
      ],
      pagination: { page: 1, limit: 50, total: 1, nextCursor: null },
    });
  });

  it("keep numbers that no double keeps, as do the events of the device's own logs", async () => {
    const agent = await newAgent(await newTenant(root));
    const long = '{"n":1767323045678901234,"list":[0.12345678901234567890]}';
    const log = `{"logs":[${JSON.stringify(aLog({ fields: 0 })).replace(/0}$/, `${long}}`)}]}`;
    const event = `{"events":[${JSON.stringify(anEvent({ details: 0 })).replace(/0}$/, `${long}}`)}]}`;
    expect((await agent.api.call("POST", `/agents/${agent.deviceId}/logs`, log)).status).toBe(201);
    expect((await agent.api.call("PUT", `/agents/${agent.deviceId}/eventlogs`, event)).status).toBe(200);
    for (const list of ["diagnostic-logs", "eventlogs"]) {
      const { text } = await root.call("GET", `/devices/${agent.deviceId}/${list}`);
      expect(text.replaceAll(" ", "")).toContain(long);
    }
  });

  it("are stored once when a request is repeated, with and without an Idempotency-Key", async () => {
    const agent = await newAgent(await newTenant(root));
    const send = (logs: unknown, headers = {}) =>
      agent.api.call("POST", `/agents/${agent.deviceId}/logs`, { logs }, headers);
    const key = { "idempotency-key": "batch-1" };
    const answers = [
      await send([aLog(), aLog()]),
      await send([aLog(), aLog()]),
      await send([aLog({ message: "a" })], key),
      await send([aLog({ message: "a" })], key),
    ];
    expect(answers.map(({ status, body }) => [status, body.received])).toEqual([
      [201, 2],
      [201, 2],
      [201, 1],
      [201, 1],
    ]);
    const other = await send([aLog({ message: "b" })], key);
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    expect(totalOf((await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs`)).body)).toBe(3);
  });

  it("and events are paged by cursor, as every list is", async () => {
    const agent = await newAgent(await newTenant(root));
    await agent.api.call(
      "POST",
      `/agents/${agent.deviceId}/logs`,
      many(3, (i) => aLog({ message: `${i}` })),
    );
    const events = many(3, (i) => anEvent({ eventId: `${i}` }));
    await agent.api.call("PUT", `/agents/${agent.deviceId}/eventlogs`, { events });
    for (const list of ["diagnostic-logs", "eventlogs"]) {
      const first = await root.call("GET", `/devices/${agent.deviceId}/${list}?limit=2`);
      const { nextCursor } = first.body.pagination as { nextCursor: string };
      const second = await root.call("GET", `/devices/${agent.deviceId}/${list}?limit=2&cursor=${nextCursor}`);
      expect([second.status, (second.body.data as unknown[])?.length]).toEqual([200, 1]);
    }
  });

  it("dated more than a day ahead are shown with their own time, behind what came later", async () => {
    const agent = await newAgent(await newTenant(root));
    const send = (timestamp: string) =>
      agent.api.call("POST", `/agents/${agent.deviceId}/logs`, { logs: [aLog({ timestamp })] });
    await send("2099-01-01T00:00:00.000Z");
    await send(new Date(Date.now() + 60_000).toISOString());
    const { body } = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs`);
    const times = (body.data as { timestamp: string }[]).map(({ timestamp }) => timestamp);
    expect(times).toHaveLength(2);
    expect(times.at(1)).toBe("2099-01-01T00:00:00.000Z");
  });

  it("are filtered by a list of levels, component, since, until and search", async () => {
    const agent = await newAgent(await newTenant(root));
    const logs = many(8, (i) =>
      aLog({
        timestamp: `2026-01-0${i + 1}T00:00:00.000Z`,
        level: ["debug", "info", "warn", "error"][i % 4],
        component: i < 4 ? "ws" : "heartbeat",
        message: `Line ${i} of 100%`,
      }),
    );
    await agent.api.call("POST", `/agents/${agent.deviceId}/logs`, { logs });
    const total = async (query: string) =>
      totalOf((await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs?${query}`)).body);
    expect(await total("level=warn,error")).toBe(4);
    expect(await total("component=ws&level=info")).toBe(1);
    expect(await total("since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z")).toBe(3);
    expect(await total("search=line%203")).toBe(1);
    expect(await total("search=0%25")).toBe(8);
    const bad = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs?level=warn,fatal`);
    expect([bad.status, bad.body.code]).toEqual([400, "validation_failed"]);
    const most = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs?limit=5000`);
    expect(most.body.pagination).toMatchObject({ limit: 1_000 });
  });

  it("are stored as far as they are valid: 501 entries, one bad of 500, bad ones alone, none", async () => {
    const agent = await newAgent(await newTenant(root));
    const send = (logs: unknown) => agent.api.call("POST", `/agents/${agent.deviceId}/logs`, { logs });
    expect(await send(many(501, () => aLog()))).toMatchObject({
      status: 400,
      body: { code: "validation_failed", details: { fieldErrors: { logs: expect.anything() } } },
    });
    expect(await send([aLog({ level: "loud" })])).toMatchObject({
      status: 400,
      body: { code: "validation_failed", details: { fieldErrors: { "logs.0.level": expect.anything() } } },
    });
    expect(await countOf(agent)).toBe(0);
    expect(await send([])).toMatchObject({ status: 201, body: { received: 0, refused: [] } });
    expect(await send(many(500, (i) => (i === 233 ? aLog({ level: "loud" }) : aLog())))).toMatchObject({
      status: 201,
      body: { received: 499, refused: [{ index: 233, errors: { level: [expect.any(String)] } }] },
    });
    expect(await send(many(500, () => aLog()))).toMatchObject({ status: 201, body: { received: 500 } });
    expect(await countOf(agent)).toBe(999);
  });

  it("may come as an array or as lines, with bytes that are no UTF-8", async () => {
    const agent = await newAgent(await newTenant(root));
    const lines = Buffer.from(`${JSON.stringify(aLog({ message: "caf#" }))}\n{"half\n${JSON.stringify(aLog())}\n`);
    lines[lines.indexOf("#")] = 0xe9;
    const array = await sendBytes(agent, Buffer.from(JSON.stringify([aLog()])));
    expect([array.status, await array.json()]).toEqual([201, { received: 1, refused: [] }]);
    for (const type of ["application/x-ndjson", "application/x-ndjson; charset=utf-8"]) {
      const reply = await sendBytes(agent, lines, { type });
      const refused = [{ index: 1, errors: { entry: ["Must be JSON"] } }];
      expect([reply.status, await reply.json()]).toEqual([201, { received: 2, refused }]);
    }
    const { body } = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs?search=caf`);
    expect((body.data as { message: string }[]).map(({ message: text }) => text)).toEqual(["caf\ufffd"]);
    const bad = [
      await sendBytes(agent, Buffer.from('{"a'), { type: "application/x-ndjson" }),
      await sendBytes(agent, Buffer.from('{"a')),
      await sendBytes(agent, lines, { type: "text/plain" }),
    ];
    const codes = await Promise.all(bad.map(async (reply) => ((await reply.json()) as { code: string }).code));
    expect(codes).toEqual(["validation_failed", "invalid_json", "unsupported_media_type"]);
  });

  it("are refused as unknown with another agent's token, and for an unknown id", async () => {
    const tenant = await newTenant(root);
    const [mine, other] = [await newAgent(tenant), await newAgent(tenant)];
    for (const id of [other.deviceId, "00000000-0000-7000-8000-00000000dead"]) {
      for (const [method, path, body] of [
        ["POST", "logs", { logs: [aLog()] }],
        ["PUT", "eventlogs", { events: [anEvent()] }],
      ] as const) {
        const { status, body: reply } = await mine.api.call(method, `/agents/${id}/${path}`, body);
        expect([status, reply.code]).toEqual([404, "agent_not_found"]);
      }
    }
    expect(totalOf((await root.call("GET", `/devices/${other.deviceId}/eventlogs`)).body)).toBe(0);
  });

  it("may come as gzip; a bomb is stopped at the limit", async () => {
    const agent = await newAgent(await newTenant(root));
    const good = await sendGzip(
      agent,
      gzipSync(JSON.stringify({ logs: many(500, () => aLog({ message: "x".repeat(500) })) })),
    );
    expect([good.status, await good.json()]).toEqual([201, { received: 500, refused: [] }]);
    // One MiB that inflates to one GiB.
    const part = gzipSync(Buffer.alloc(64 * 1024 * 1024, 32));
    const bomb = Buffer.concat(Array(16).fill(part));
    for (const path of ["logs", "otlp/v1/logs"]) {
      expect((await sendBytes(agent, bomb, { path, isGzip: true })).status).toBe(413);
      const cut = gzipSync(JSON.stringify({ logs: [aLog()] })).subarray(0, -9);
      for (const bytes of [Buffer.from("no gzip at all"), cut]) {
        expect((await sendBytes(agent, bytes, { path, isGzip: true })).status).toBe(400);
      }
    }
    expect(totalOf((await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs`)).body)).toBe(500);
  });
});

describe("event logs", () => {
  it("keep one row of a repeated event, however it is repeated, and count honestly", async () => {
    const agent = await newAgent(await newTenant(root));
    const put = (events: unknown[]) => agent.api.call("PUT", `/agents/${agent.deviceId}/eventlogs`, { events });
    expect(await put([anEvent(), anEvent()])).toMatchObject({ status: 200, body: { success: true, count: 1 } });
    expect(await put([anEvent({ timestamp: "2025-01-02T03:04:05Z" })])).toMatchObject({ body: { count: 0 } });
    const batch = many(20, (i) => anEvent({ eventId: `p${i}` }));
    const counts = await Promise.all(many(10, async () => (await put(batch)).body.count as number));
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(20);
    expect(await put([anEvent({ eventId: undefined }), anEvent({ eventId: "" })])).toMatchObject({
      body: { count: 2 },
    });
    const { body } = await root.call("GET", `/devices/${agent.deviceId}/eventlogs`);
    expect(totalOf(body)).toBe(23);
    await until(
      "the audit rows",
      async () => (await auditedActions(root, "agent.", agent.deviceId)).length >= 13,
      60_000,
    );
    expect(new Set(await auditedActions(root, "agent.", agent.deviceId))).toEqual(new Set(["agent.eventlogs.submit"]));
  });

  it("default to level info and category system, and are filtered", async () => {
    const agent = await newAgent(await newTenant(root));
    const events = [
      anEvent(),
      anEvent({
        eventId: "2",
        level: "critical",
        category: "hardware",
        details: { disk: 0 },
        timestamp: "2026-02-01T12:00:00Z",
      }),
    ];
    await agent.api.call("PUT", `/agents/${agent.deviceId}/eventlogs`, { events });
    const list = async (query: string) =>
      (await root.call("GET", `/devices/${agent.deviceId}/eventlogs?${query}`)).body.data as Record<string, unknown>[];
    expect((await list("level=info"))[0]).toMatchObject({ category: "system", eventId: "51", details: null });
    expect((await list("category=hardware"))[0]).toMatchObject({ level: "critical", details: { disk: 0 } });
    expect(await list("source=Disk&endDate=2026-01-02")).toHaveLength(1);
    expect(await list("startDate=2026-02-01&endDate=2026-02-01")).toHaveLength(1);
    expect(await list("source=disk")).toHaveLength(0);
  });
});
