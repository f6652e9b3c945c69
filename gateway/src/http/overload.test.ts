import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { counter, uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { z } from "zod";
import { type LoadClass, type Route, route } from "../route/route.ts";
import { routes } from "../routes/index.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { type RawReply, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

const waiting: (() => void)[] = [];

/** A route that answers when the test releases it. */
const held = (load: LoadClass, access: Route["access"] = { auth: "none" }): Route =>
  route({
    method: "GET",
    path: `/test/${load}/${access.auth}${access.auth === "agent" ? "/:id" : ""}`,
    access,
    ...(access.auth === "agent" ? { params: z.object({ id: z.uuid() }) } : {}),
    load,
    tag: "Platform",
    summary: "Waits",
    reply: z.object({}),
    handle: () => new Promise<Record<string, never>>((resolve) => waiting.push(() => resolve({}))),
  });
const atOnce = (load: LoadClass): Route =>
  route({
    method: "GET",
    path: `/test/${load}/at-once`,
    access: { auth: "none" },
    load,
    tag: "Platform",
    summary: "Answers",
    reply: z.object({}),
    handle: () => ({}),
  });

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: [
      ...routes,
      held("interactive"),
      held("interactive", { auth: "any" }),
      held("ingest", { auth: "agent" }),
      held("vital"),
      atOnce("export"),
      atOnce("ingest"),
    ],
    env: {
      IN_FLIGHT_MAX_INTERACTIVE: "8",
      IN_FLIGHT_ANONYMOUS_PERCENT: "100",
      IN_FLIGHT_MAX_EXPORT: "1",
      AGENT_IN_FLIGHT_MAX: "3",
      AGENT_REQUESTS_PER_MINUTE: "12",
      EVENT_LOOP_LAG_MAX_MS: "100",
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

const shedBecause = async (load: LoadClass, reason: string) => {
  const { values } = await counter("muster_gateway_overload_rejected_total", "", ["class", "reason"]).get();
  return values.find(({ labels }) => labels.class === load && labels.reason === reason)?.value ?? 0;
};
const get = (path: string, ...lines: string[]) =>
  rawRequest(gateway.port, [`GET ${path} HTTP/1.1`, "Host: api.test", ...lines]);
const letGo = () => {
  for (const go of waiting.splice(0)) go();
};
const hold = async (count: number, path: string, ...lines: string[]): Promise<Promise<RawReply>[]> => {
  const before = waiting.length;
  const replies = Array.from({ length: count }, () => get(path, ...lines));
  await until("the requests to be in flight", async () => waiting.length === before + count);
  return replies;
};
const statuses = async (replies: readonly Promise<RawReply>[]) =>
  (await Promise.all(replies)).map(({ status }) => status);

describe("a gateway without a free slot", () => {
  it("refuses immediately with 503, Retry-After and a count, and serves again when a slot is free", async () => {
    const replies = await hold(8, "/api/v1/test/interactive/none");
    const refused = await get("/api/v1/test/interactive/none");
    expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([503, "overloaded", "1"]);
    expect(await shedBecause("interactive", "class")).toBeGreaterThan(0);
    // Refused before the credential is looked at.
    expect((await get("/api/v1/auth/me", "Authorization: Bearer x")).status).toBe(503);
    letGo();
    expect(new Set(await statuses(replies))).toEqual(new Set([200]));
    expect((await get("/api/v1/auth/me")).status).toBe(401);
  });

  it("continues to serve health, sign-in, sign-out and other classes", async () => {
    services.identity.login = () => ({ mfaToken: "mfa_x", methods: ["totp"] });
    const replies = await hold(8, "/api/v1/test/interactive/none");
    expect((await get("/health")).status).toBe(200);
    const body = JSON.stringify({ email: "a@example.com", password: "x" });
    const lines = ["POST /api/v1/auth/login HTTP/1.1", "Host: api.test", "Content-Type: application/json"];
    const login = await rawRequest(gateway.port, [...lines, `Content-Length: ${body.length}`], body);
    expect(login.status).toBe(200);
    const { token } = await services.signIn();
    const out = ["POST /api/v1/auth/logout HTTP/1.1", "Host: api.test", `Authorization: Bearer ${token}`];
    expect((await rawRequest(gateway.port, [...out, "Content-Length: 0"])).status).toBe(200);
    expect((await get("/api/v1/test/ingest/at-once")).status).toBe(200);
    letGo();
    await Promise.all(replies);
  });

  it("limits each agent to a few slots, so that other agents of the organization have theirs, and frees them afterwards", async () => {
    const mine = services.newAgent();
    const neighbour = services.newAgent({ orgId: mine.record.orgId, partnerId: mine.record.partnerId });
    const requestOf = ({ token, record }: typeof mine) =>
      [`/api/v1/test/ingest/agent/${record.deviceId}`, `Authorization: Bearer ${token}`] as const;
    for (let round = 0; round < 2; round++) {
      const replies = await hold(3, ...requestOf(mine));
      const refused = await get(...requestOf(mine));
      expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([
        429,
        "rate_limited",
        "1",
      ]);
      replies.push(...(await hold(1, ...requestOf(neighbour))));
      letGo();
      expect(await statuses(replies)).toEqual([200, 200, 200, 200]);
    }
    expect(await shedBecause("ingest", "agent")).toBe(2);
  });

  it("limits one agent's requests per minute and returns the seconds until the next is admitted", async () => {
    const { token, record } = services.newAgent();
    const upgrade = () => get(`/api/v1/agents/${record.deviceId}/channel`, `Authorization: Bearer ${token}`);
    const replies = [];
    for (let n = 0; n < 13; n++) replies.push(await upgrade());
    expect(replies.map(({ status }) => status)).toEqual([...Array(12).fill(426), 429]);
    expect(Number(replies[12]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(replies[12]?.headers.get("retry-after"))).toBeLessThanOrEqual(5);
  });

  it("limits one organization to a quarter of them, and frees them afterwards", async () => {
    const mine = services.newKey();
    const [one, other] = [`X-API-Key: ${mine.secret}`, `X-API-Key: ${services.newKey({ orgId: uuidv7() }).secret}`];
    for (let round = 0; round < 3; round++) {
      const replies = await hold(2, "/api/v1/test/interactive/any", one);
      const refused = await get("/api/v1/auth/me", one);
      expect([refused.status, refused.json.code]).toEqual([503, "overloaded"]);
      expect(refused.headers.get("x-ratelimit-limit") ?? refused.headers.get("ratelimit")).toBeTruthy();
      expect((await get("/api/v1/auth/me", other)).status).toBe(200);
      letGo();
      expect(await statuses(replies)).toEqual([200, 200]);
      expect((await get("/api/v1/auth/me", one)).status).toBe(200);
    }
  });

  it("has all its slots free after requests that failed in every way", async () => {
    const { secret } = services.newKey();
    for (let i = 0; i < 10; i++) {
      await get("/api/v1/auth/me", "X-API-Key: nothing");
      await get("/api/v1/orgs/partners", `X-API-Key: ${secret}`);
      await get("/api/v1/nothing");
    }
    const replies = await hold(8, "/api/v1/test/interactive/none");
    letGo();
    expect(new Set(await statuses(replies))).toEqual(new Set([200]));
  });
});

describe("a gateway whose event loop is late", () => {
  const block = (ms: number) => {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs) Math.sqrt(endMs);
  };

  it("sheds the lower classes first and admits them again when it recovers", async () => {
    const refused = await until("exports to be shed", async () => {
      block(250);
      const reply = await get("/api/v1/test/export/at-once");
      return reply.status === 503 ? reply : null;
    });
    expect([refused.json.code, refused.headers.get("retry-after")]).toEqual(["overloaded", "1"]);
    expect((await get("/health")).status).toBe(200);
    await until("exports to be served", async () => (await get("/api/v1/test/export/at-once")).status === 200);
    expect(await shedBecause("export", "lag")).toBeGreaterThan(0);
  });
});

describe("a key that is not cached", () => {
  it("is resolved with the client's address, and a 429 has Retry-After and is not cached for the key", async () => {
    const { secret } = services.newKey();
    const resolveKeys = services.edge.resolveKeys;
    const addresses: string[] = [];
    services.edge.resolveKeys = (request, handler) => {
      addresses.push(...request.wanted.map(({ clientAddress }) => clientAddress));
      if (addresses.length > 1) return (resolveKeys as NonNullable<typeof resolveKeys>)(request, handler);
      const value = { code: "rate_limited", message: "Too many", retryAfterSeconds: 17 };
      return { outcomes: [{ outcome: { case: "refused", value } }] };
    };
    const refused = await get("/api/v1/auth/me", `X-API-Key: ${secret}`);
    expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "17",
    ]);
    expect((await get("/api/v1/auth/me", `X-API-Key: ${secret}`)).status).toBe(200);
    expect(addresses).toEqual(["127.0.0.1", "127.0.0.1"]);
  });
});
