import { createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createContext, SourceTextModule } from "node:vm";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createMusterClient, MusterError, verifyWebhook } from "./index.ts";

type Seen = { method: string; path: string; headers: IncomingMessage["headers"]; body: string };
type Answer = { status: number; body?: unknown; headers?: Record<string, string> } | "cut";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server with scripted answers, and the requests it received. */
async function serving(answer: (seen: Seen, count: number) => Answer) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const call = { method: String(request.method), path: String(request.url), headers: request.headers, body };
    seen.push(call);
    const reply = answer(call, seen.length);
    if (reply === "cut") return request.socket.destroy();
    response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
    response.end(JSON.stringify(reply.body ?? {}));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const busy: Answer = { status: 503, body: { error: "Busy", code: "overloaded" }, headers: { "retry-after": "0" } };
const page = (data: unknown[], nextCursor: string | null) => ({
  status: 200,
  body: { data, pagination: { page: 1, limit: 100, total: null, nextCursor } },
});
const site = { orgId: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f", name: "Berlin" };

describe("a request that may be repeated", () => {
  it("is sent again until it is answered, a POST under one Idempotency-Key", async () => {
    const { baseUrl, seen } = await serving((_call, count) => (count < 3 ? busy : { status: 201, body: { id: "1" } }));
    const { data } = await createMusterClient({ baseUrl, apiKey: "svc_x" }).POST("/api/v1/orgs/sites", { body: site });
    expect(data).toEqual({ id: "1" });
    expect(seen.map(({ body }) => JSON.parse(body))).toEqual([site, site, site]);
    expect(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(seen[0]?.headers).toMatchObject({
      "x-api-key": "svc_x",
      "idempotency-key": expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it("ends with the last error after as many repeats as are allowed", async () => {
    const { baseUrl, seen } = await serving(() => busy);
    const { error, response } = await createMusterClient({ baseUrl, retries: 2 }).GET("/api/v1/devices");
    expect([response.status, error?.code, seen.length]).toEqual([503, "overloaded", 3]);
  });

  it("does not wait for a Retry-After beyond what the caller allows", async () => {
    const { baseUrl, seen } = await serving(() => ({ ...busy, headers: { "retry-after": "3600" } }) as Answer);
    expect((await createMusterClient({ baseUrl }).GET("/api/v1/devices")).response.status).toBe(503);
    expect(seen.length).toBe(1);
  });

  it("waits for the date of a Retry-After, by the clock of the API", async () => {
    const [date, at] = [5, 3_605].map((seconds) => new Date(seconds * 1_000).toUTCString());
    const later = { ...busy, headers: { date, "retry-after": at } } as Answer;
    const { baseUrl, seen } = await serving(() => later);
    await createMusterClient({ baseUrl, maxPauseMs: 3_599_000 }).GET("/api/v1/devices");
    expect(seen.length).toBe(1);
    const passed = { ...busy, headers: { date: at, "retry-after": date } } as Answer;
    const other = await serving((_call, count) => (count === 1 ? passed : page([], null)));
    expect((await createMusterClient({ baseUrl: other.baseUrl }).GET("/api/v1/devices")).response.status).toBe(200);
  });

  it("is given up when the caller aborts", async () => {
    const { baseUrl } = await serving(() => ({ ...busy, headers: { "retry-after": "20" } }) as Answer);
    const signal = AbortSignal.timeout(50);
    await expect(createMusterClient({ baseUrl }).GET("/api/v1/devices", { signal })).rejects.toThrow();
  });
});

describe("a request that must not be repeated", () => {
  it("is sent once, without an Idempotency-Key where the API takes none", async () => {
    const { baseUrl, seen } = await serving(() => busy);
    const body = { email: "a@example.com", password: "x" };
    const { error } = await createMusterClient({ baseUrl }).POST("/api/v1/auth/login", { body });
    expect([error?.code, seen.length, seen[0]?.headers["idempotency-key"]]).toEqual(["overloaded", 1, undefined]);
  });
});

it("a request without any reply is an error value with code network_error", async () => {
  const { baseUrl, seen } = await serving(() => "cut");
  const { data, error } = await createMusterClient({ baseUrl, retries: 0 }).GET("/api/v1/devices");
  expect([data, error?.code, seen.length]).toEqual([undefined, "network_error", 1]);
});

describe("a session", () => {
  const stale = { status: 401, body: { error: "Expired", code: "token_expired" } };
  const isRefresh = ({ path }: Seen) => path === "/api/v1/auth/refresh";

  it("is refreshed once for all requests that wait, and they are sent again", async () => {
    const stored: unknown[] = [];
    const next = { accessToken: "new", refreshToken: "r2", expiresInSeconds: 900 };
    const { baseUrl, seen } = await serving((call) => {
      if (isRefresh(call)) return { status: 200, body: next };
      return call.headers.authorization === "Bearer new" ? page([], null) : stale;
    });
    const tokens = { accessToken: "old", refreshToken: "r1" };
    const muster = createMusterClient({ baseUrl, tokens, onTokens: (pair) => stored.push(pair) });
    const replies = await Promise.all(Array.from({ length: 10 }, () => muster.GET("/api/v1/devices")));
    expect(replies.map(({ response }) => response.status)).toEqual(Array(10).fill(200));
    expect(seen.filter(isRefresh).map(({ body }) => JSON.parse(body))).toEqual([{ refreshToken: "r1" }]);
    expect(stored).toEqual([{ accessToken: "new", refreshToken: "r2" }]);
  });

  it("takes the pair that another process got instead of spending its own refresh token", async () => {
    const { baseUrl, seen } = await serving((call) =>
      call.headers.authorization === "Bearer theirs" ? page([], null) : stale,
    );
    const theirs = { accessToken: "theirs", refreshToken: "r2" };
    const tokens = { accessToken: "old", refreshToken: "r1" };
    const muster = createMusterClient({ baseUrl, tokens, refreshWith: async () => theirs });
    expect((await muster.GET("/api/v1/devices")).response.status).toBe(200);
    expect(seen.filter(isRefresh)).toEqual([]);
  });

  it("has ended when its refresh token is refused; a busy API does not end it", async () => {
    const stored: unknown[] = [];
    let refusal: Answer = busy;
    const { baseUrl, seen } = await serving((call) => (isRefresh(call) ? refusal : stale));
    const tokens = { accessToken: "old", refreshToken: "r1" };
    const muster = createMusterClient({ baseUrl, tokens, onTokens: (pair) => stored.push(pair) });
    expect((await muster.GET("/api/v1/devices")).error?.code).toBe("token_expired");
    expect(stored).toEqual([]);
    refusal = { status: 401, body: { error: "Invalid", code: "invalid_refresh_token" } };
    expect((await muster.GET("/api/v1/devices")).error?.code).toBe("token_expired");
    expect(stored).toEqual([null]);
    const refreshes = seen.filter(isRefresh).length;
    await muster.GET("/api/v1/devices");
    expect(seen.filter(isRefresh).length).toBe(refreshes);
  });
});

describe("values of a closed list", () => {
  it("compile only when the API knows them", async () => {
    const { baseUrl, seen } = await serving(() => busy);
    const muster = createMusterClient({ baseUrl, retries: 0 });
    // @ts-expect-error: no status of a device
    await muster.GET("/api/v1/devices", { params: { query: { status: ["onlin"] } } });
    // @ts-expect-error: no status of a webhook
    await muster.GET("/api/v1/webhooks", { params: { query: { status: "activ" } } });
    // @ts-expect-error: no scope
    await muster.POST("/api/v1/api-keys", { body: { orgId: site.orgId, name: "n", scopes: ["devices:reed"] } });
    // @ts-expect-error: no event type
    await muster.POST("/api/v1/events", { body: { type: "alert.triggerd", orgId: site.orgId, data: {} } });
    expect(seen).toHaveLength(4);
  });
});

describe("the pages of a list", () => {
  it("are asked for one after the other, with the filters of the caller", async () => {
    const { baseUrl, seen } = await serving((_call, count) =>
      count === 1 ? page([{ id: "1" }, { id: "2" }], "c2") : page([{ id: "3" }], null),
    );
    const ids: string[] = [];
    const muster = createMusterClient({ baseUrl });
    for await (const device of muster.pages("/api/v1/devices", {
      params: { query: { status: ["online", "offline"] } },
    }))
      ids.push(device.id);
    expect(ids).toEqual(["1", "2", "3"]);
    const queries = seen.map(({ path }) => Object.fromEntries(new URL(path, baseUrl).searchParams));
    const common = { limit: "100", status: "online,offline", skipCount: "true" };
    expect(queries).toEqual([common, { ...common, cursor: "c2" }]);
  });

  it("throw the error of the page that failed, with its code", async () => {
    const { baseUrl } = await serving(() => ({
      status: 403,
      body: { error: "No", code: "permission_denied", requestId: "r" },
    }));
    const all = createMusterClient({ baseUrl }).pages("/api/v1/devices");
    const failure = await all.next().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MusterError);
    expect(failure).toMatchObject({ code: "permission_denied", status: 403, message: "No" });
  });
});

describe("verifyWebhook", () => {
  const [id, body, now] = ["d1", '{"a":1}', new Date("2026-01-01T00:00:00Z")];
  const at = String(now.getTime() / 1_000);
  const mac = (key: Buffer | string) =>
    `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`;
  const key = Buffer.from("0123456789abcdef0123456789abcdef");
  const secret = `whsec_${key.toString("base64")}`;
  const sent = (signature: string, timestamp = at) => ({
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signature,
  });
  const verified = (headers: Record<string, string> | Headers, raw: string | Uint8Array = body, by = secret) =>
    verifyWebhook(by, headers, raw, { now: () => now });

  it("accepts what the secret signed, also next to another signature, in any kind of header object", async () => {
    expect(await verified(sent(mac(key)))).toBe(true);
    expect(await verified(sent(`${mac("other")} ${mac(key)}`), Buffer.from(body))).toBe(true);
    expect(await verified(new Headers(sent(mac(key))))).toBe(true);
    expect(await verified({ ...sent(mac("plain secret")) }, body, "plain secret")).toBe(true);
  });

  it.each<[string, Record<string, string>, string]>([
    ["another secret", sent(mac("other")), body],
    ["another body", sent(mac(key)), '{"a":2}'],
    ["an old timestamp", sent(mac(key), String(Number(at) - 301)), body],
    ["no signature", { "webhook-id": id, "webhook-timestamp": at }, body],
    ["a signature that is no base64", sent("v1,%%%"), body],
    ["a timestamp that is none", sent(mac(key), "soon"), body],
  ])("refuses %s", async (_what, headers, raw) => {
    expect(await verified(headers, raw)).toBe(false);
  });
});

it("the client runs with nothing but what browsers have, also over plain http", async () => {
  const own = new URL("../dist/", import.meta.url);
  const web = { fetch: async () => Response.json({ id: "1" }), Request, Response, Headers, FormData };
  const more = { URL, URLSearchParams, AbortSignal, TextEncoder, atob, setTimeout, clearTimeout };
  const crypto = { getRandomValues: (bytes: Uint8Array) => bytes.fill(7) };
  const context = createContext({ ...web, ...more, crypto });
  const modules = new Map<string, SourceTextModule>();
  const load = (url: string): SourceTextModule => {
    const cached = modules.get(url);
    if (cached) return cached;
    const made = new SourceTextModule(readFileSync(new URL(url), "utf8"), { context, identifier: url });
    modules.set(url, made);
    return made;
  };
  const main = load(new URL("index.js", own).href);
  await main.link((name, { identifier }) =>
    load(name === "openapi-fetch" ? import.meta.resolve(name) : new URL(name, identifier).href),
  );
  await main.evaluate();
  const { createMusterClient: create } = main.namespace as { createMusterClient: typeof createMusterClient };
  const { data } = await create({ baseUrl: "http://a.test" }).POST("/api/v1/orgs/sites", { body: site });
  expect(data).toEqual({ id: "1" });
});

it("the client with its dependency is at most 12 KB compressed, not even minified", () => {
  const own = new URL("../dist/", import.meta.url);
  const files = readdirSync(own).filter((name) => name.endsWith(".js"));
  const operations = readFileSync(new URL("generated/operations.js", own));
  const fetchClient = readFileSync(new URL(import.meta.resolve("openapi-fetch")));
  const code = [...files.map((name) => readFileSync(new URL(name, own))), operations, fetchClient];
  expect(gzipSync(Buffer.concat(code)).length).toBeLessThanOrEqual(12 * 1_024);
});
