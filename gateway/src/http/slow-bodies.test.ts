import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { z } from "zod";
import { type Route, route } from "../route/route.ts";
import { routes } from "../routes/index.ts";
import { edgeRows } from "../testing/edge-rows.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { openSocket, parseReplies, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

const waiting: (() => void)[] = [];
const held = (auth: "none" | "any"): Route =>
  route({
    method: "GET",
    path: `/test/held/${auth}`,
    access: { auth },
    tag: "Platform",
    summary: "Waits",
    reply: z.object({}),
    handle: () => new Promise<Record<string, never>>((resolve) => waiting.push(() => resolve({}))),
  });

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: [...routes, ...edgeRows, held("none"), held("any")],
    env: {
      IN_FLIGHT_MAX_INTERACTIVE: "8",
      IN_FLIGHT_MAX_ENROLLMENT: "4",
      IN_FLIGHT_ANONYMOUS_PERCENT: "25",
      BODY_CONCURRENCY: "80",
      BODY_GRACE_MS: "1500",
      CONNECTIONS_MAX: "200",
      TRUST_PROXY_HEADERS: "true",
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

const sockets: Socket[] = [];
afterEach(() => {
  for (const go of waiting.splice(0)) go();
  for (const socket of sockets.splice(0)) socket.destroy();
});

const open = async (bytes: string) => {
  const socket = await openSocket(gateway.port);
  socket.on("error", () => undefined);
  sockets.push(socket);
  const got = { text: "" };
  socket.on("data", (chunk) => {
    got.text += String(chunk);
  });
  socket.write(bytes);
  return { socket, got };
};
const head = (path: string, length: number) =>
  `POST /api/v1${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
const openMany = (count: number, bytes: string) => Promise.all(Array.from({ length: count }, () => open(bytes)));
const post = (path: string, value: unknown) => {
  const body = JSON.stringify(value);
  const lines = [`POST /api/v1${path} HTTP/1.1`, "Host: a", "Content-Type: application/json"];
  return rawRequest(gateway.port, [...lines, `Content-Length: ${Buffer.byteLength(body)}`], body);
};
const get = (path: string, ...lines: string[]) =>
  rawRequest(gateway.port, [`GET /api/v1${path} HTTP/1.1`, "Host: a", ...lines]);
const hold = async (count: number, path: string, ...lines: string[]) => {
  const before = waiting.length;
  const replies = Array.from({ length: count }, () => get(path, ...lines));
  await until("the requests to be in flight", () => waiting.length === before + count);
  return replies;
};

describe("bodies that arrive one byte at a time", () => {
  it.each(["/test/echo", "/auth/refresh", "/agents/enroll"])("to %s hold no slot", async (path) => {
    await openMany(60, `${head(path, 900)}{`);
    const reply = await post("/test/echo", { text: "quick" });
    expect([reply.status, reply.json]).toEqual([200, { text: "quick" }]);
    expect((await get("/auth/me")).status).toBe(401);
    expect((await post("/agents/enroll", {})).status).toBe(400);
  });

  it("are dropped with 408 and the connection is closed", async () => {
    const { socket, got } = await open(`${head("/test/echo", 900)}{`);
    await until("the connection to end", () => socket.closed);
    const [reply] = parseReplies(got.text);
    expect([reply?.status, reply?.json.code, reply?.headers.get("connection")]).toEqual([
      408,
      "request_timeout",
      "close",
    ]);
  });

  it("beyond the maximum displace each other, never a fast one", async () => {
    await openMany(120, `${head("/test/echo", 900)}{`);
    const replies = await Promise.all(Array.from({ length: 5 }, () => post("/test/echo", { text: "quick" })));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it("when they are too large, hold no slot while they are read to their end", async () => {
    await openMany(20, `${head("/test/echo", 2_000_000)}{`);
    expect((await post("/test/echo", { text: "quick" })).status).toBe(200);
  });
});

describe("slots", () => {
  it("for unauthenticated requests are a share per network, so that signed-in users have the rest", async () => {
    const replies = await hold(2, "/test/held/none");
    expect((await get("/test/held/none")).json.code).toBe("overloaded");
    const { token } = await services.signIn();
    replies.push(...(await hold(1, "/test/held/any", `Authorization: Bearer ${token}`)));
    for (const go of waiting.splice(0)) go();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("for unauthenticated requests are counted by network: another network has its own, an IPv6 /64 is one", async () => {
    const from = (address: string) => `X-Forwarded-For: ${address}`;
    const replies = await hold(2, "/test/held/none", from("2001:db8:1:2::1"));
    expect((await get("/test/held/none", from("2001:db8:1:2::2"))).json.code).toBe("overloaded");
    replies.push(...(await hold(1, "/test/held/none", from("2001:db8:1:3::1"))));
    for (const go of waiting.splice(0)) go();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("for keys that are being resolved are a share of their network, which yields to authenticated callers", async () => {
    const { token } = await services.signIn();
    expect((await get("/auth/me", `Authorization: Bearer ${token}`)).status).toBe(200);
    const resolve = services.edge.resolveKeys;
    const waiting_: (() => void)[] = [];
    services.edge.resolveKeys = async (request, handler) => {
      await new Promise<void>((go) => waiting_.push(go));
      return (resolve as NonNullable<typeof resolve>)(request, handler);
    };
    const replies = Array.from({ length: 3 }, () => get("/auth/me", `X-API-Key: ${services.newKey().secret}`));
    // Identity answers none of them yet.
    expect((await Promise.race(replies)).json.code).toBe("overloaded");
    expect((await get("/auth/me", `Authorization: Bearer ${token}`)).status).toBe(200);
    services.edge.resolveKeys = resolve as NonNullable<typeof resolve>;
    for (const go of waiting_.splice(0)) go();
    expect((await Promise.all(replies)).map(({ status }) => status).sort()).toEqual([200, 200, 503]);
  });

  it.each(["system", "partner"] as const)("for a %s session are a separate share", async (scope) => {
    const { token } = await services.signIn({ scope, orgId: "" });
    const authorization = `Authorization: Bearer ${token}`;
    const replies = await hold(2, "/test/held/any", authorization);
    expect((await get("/auth/me", authorization)).json.code).toBe("overloaded");
    for (const go of waiting.splice(0)) go();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await get("/auth/me", authorization)).status).toBe(200);
  });
});

describe("connections", () => {
  it("are closed when they idle between two requests, before a new one is refused", async () => {
    const rest = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
    const idle = await openMany(179, rest);
    await until("their replies", () => idle.every(({ got }) => parseReplies(got.text).length === 1));
    const more = await openMany(30, rest);
    await until("their replies", () => more.every(({ got }) => parseReplies(got.text).length === 1));
    expect(idle.some(({ socket }) => socket.closed)).toBe(true);
  });

  it("are bounded: one too many is closed, and a new one is accepted when others end", async () => {
    const opened = await openMany(200, "GET /health HTTP/1.1\r\n");
    const extra = await open("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("the connection to be closed", () => extra.socket.closed);
    expect(extra.got.text).toBe("");
    for (const { socket } of opened) socket.destroy();
    await until("the server to have room", async () => {
      const { got, socket } = await open("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      await until("an end", () => socket.closed);
      return parseReplies(got.text)[0]?.status === 200;
    });
  });
});
