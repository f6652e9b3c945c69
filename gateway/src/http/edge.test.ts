import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { routes } from "../routes/index.ts";
import { edgeRows } from "../testing/edge-rows.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { openSocket, parseReplies, rawReplies, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let services: FakeServices;
let gateway: TestGateway;
const at = (target: string, ...lines: string[]) =>
  rawRequest(gateway.port, [`GET ${target} HTTP/1.1`, "Host: api.test", ...lines]);
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: [...routes, ...edgeRows],
    env: {
      CORS_ORIGINS: "https://app.example.com",
      EDGE_CLIENT_ADDRESS_HEADER: "X-Edge-Address",
    },
  });
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

describe("a request target", () => {
  it.each([
    ["absolute form", "http://api.test/health"],
    ["asterisk form", "*"],
    ["a parent segment", "/api/v1/../health"],
    ["an encoded parent segment", "/api/v1/%2e%2E/health"],
    ["a parent segment with a path parameter", "/api/..;/health"],
    ["a single-dot segment", "/api/./v1/auth/me"],
    ["an empty segment", "/api//v1/auth/me"],
    ["an empty first segment", "//api/v1/auth/me"],
    ["an encoded slash", "/api/v1/orgs%2fpartners"],
    ["an encoded slash in a parameter without slashes", "/api/v1/orgs/partners/a%2Fb"],
    ["an encoded slash before a parameter that may hold one", "/api/v1/test%2flogs/a/events"],
    ["a backslash", "/api/v1\\auth"],
    ["an encoded backslash", "/api/v1/orgs/partners/a%5Cb"],
    ["an encoded NUL", "/api/v1/orgs/partners/a%00"],
    ["an encoded NUL in the query", "/health?a=%00"],
    ["broken percent-encoding", "/api/v1/orgs/partners/%zz"],
    ["percent-encoding that is not UTF-8", "/api/v1/orgs/partners/%ff"],
    ["a fragment", "/health#x"],
    ["a parent behind an encoded slash", "/api/v1/test/logs/a%2f..%2fb/events"],
  ])("is refused with %s", async (_what, target) => {
    const reply = await at(target);
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ code: "bad_request", requestId: reply.headers.get("x-request-id") });
  });

  it("may hold encoded slashes where a parameter is marked so", async () => {
    const reply = await at("/api/v1/test/logs/Microsoft-Windows-PowerShell%2FOperational/events");
    expect([reply.status, reply.json]).toEqual([200, { name: "Microsoft-Windows-PowerShell/Operational" }]);
  });

  it("is the same route with a trailing slash", async () => {
    expect((await at("/health/")).status).toBe(200);
    expect((await at("/health/?x=1")).status).toBe(200);
    expect((await at("/api/v1/auth/me/")).status).toBe(401);
  });

  it("without a route is a 404 with the error body", async () => {
    const reply = await at("/api/v1/nothing");
    expect([reply.status, reply.json.code]).toEqual([404, "not_found"]);
  });

  it("with a method that its route lacks is a 405 that lists the methods", async () => {
    const reply = await rawRequest(gateway.port, ["DELETE /api/v1/auth/me HTTP/1.1", "Host: api.test"]);
    expect([reply.status, reply.json.code]).toEqual([405, "method_not_allowed"]);
    expect(reply.headers.get("allow")).toBe("GET, PATCH, HEAD, OPTIONS");
  });
});

describe("request headers", () => {
  it.each([
    ["two Host", ["Host: api.test", "Host: other.test"]],
    ["no Host", []],
    ["a Host that is none", ["Host: a b/c"]],
    ["a Host with user information", ["Host: a@api.test"]],
    ["two Authorization", ["Host: api.test", "Authorization: Bearer a", "authorization: Bearer b"]],
    ["two X-API-Key", ["Host: api.test", "X-API-Key: a", "x-api-key: b"]],
    ["two Idempotency-Key", ["Host: api.test", "Idempotency-Key: a", "idempotency-key: a"]],
    ["an underscore alias of Idempotency-Key", ["Host: api.test", "Idempotency_Key: a"]],
    ["an underscore alias of X-API-Key", ["Host: api.test", "X_API_Key: a"]],
    ["an underscore alias of Authorization's neighbours", ["Host: api.test", "X-Forwarded_For: 192.0.2.1"]],
    ["an underscore alias of our metadata", ["Host: api.test", "muster_caller: x"]],
    ["an underscore alias of the edge's address header", ["Host: api.test", "X_Edge_Address: 192.0.2.1"]],
    ["two lengths", ["Host: api.test", "Content-Length: 1", "Content-Length: 2"]],
    ["length and chunks", ["Host: api.test", "Content-Length: 1", "Transfer-Encoding: chunked"]],
    ["a space before the colon", ["Host: api.test", "X-API-Key : a"]],
  ])("are refused with %s", async (_what, lines) => {
    const reply = await rawRequest(gateway.port, ["GET /health HTTP/1.1", ...lines]);
    expect([reply.status, reply.json.code]).toEqual([400, "bad_request"]);
    expect(reply.headers.get("x-request-id")).toBe(reply.json.requestId);
  });

  it("beyond 16 KiB are a 431 with the error body", async () => {
    const reply = await at("/health", `X-Much: ${"a".repeat(17_000)}`);
    expect([reply.status, reply.json.code]).toEqual([431, "headers_too_large"]);
  });

  it("are ignored when they imitate internal metadata", async () => {
    const reply = await at("/api/v1/auth/me", "muster-caller: forged", "muster-client-address: 192.0.2.1");
    expect([reply.status, reply.json.code]).toEqual([401, "unauthenticated"]);
  });

  it("keep the caller's request id when it is safe; otherwise it is replaced", async () => {
    expect((await at("/health", "X-Request-Id: abc-123")).headers.get("x-request-id")).toBe("abc-123");
    expect((await at("/health", `X-Request-Id: ${"a".repeat(128)}`)).headers.get("x-request-id")).toHaveLength(128);
    expect((await at("/health", `X-Request-Id: ${"a".repeat(129)}`)).headers.get("x-request-id")).toHaveLength(36);
    expect((await at("/health", 'X-Request-Id: a"b')).headers.get("x-request-id")).toHaveLength(36);
  });
});

describe("methods besides the route's own", () => {
  it("HEAD answers as GET without a body", async () => {
    const reply = await rawReplies(gateway.port, "HEAD /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(reply[0]?.status).toBe(200);
    expect(Number(reply[0]?.headers.get("content-length"))).toBeGreaterThan(20);
    expect(reply[0]?.text).toBe("");
  });

  it("OPTIONS lists the methods, and sends CORS headers to configured origins only", async () => {
    const preflight = (origin: string) =>
      rawRequest(gateway.port, [
        "OPTIONS /api/v1/orgs/partners HTTP/1.1",
        "Host: a",
        `Origin: ${origin}`,
        "Access-Control-Request-Method: POST",
      ]);
    const allowed = await preflight("https://app.example.com");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("allow")).toBe("POST, GET, HEAD, OPTIONS");
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    for (const origin of ["https://app.example.com.evil.test", "http://app.example.com", "null"]) {
      const unknown = await preflight(origin);
      expect(unknown.headers.has("access-control-allow-origin")).toBe(false);
      expect(unknown.headers.get("vary")).toBe("Origin");
    }
  });

  it("errors carry CORS too, so that a page can read them", async () => {
    const reply = await at("/api/v1/auth/me", "Origin: https://app.example.com");
    expect(reply.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
  });
});

describe("failures", () => {
  it("reveal, when unexpected, only the request id", async () => {
    const reply = await at("/api/v1/test/broken", "X-Request-Id: r1");
    expect(reply.status).toBe(500);
    expect(reply.json).toEqual({ error: "Internal server error", code: "internal", requestId: "r1" });
  });

  it("with a 401 name the scheme", async () => {
    expect((await at("/api/v1/auth/me")).headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("replies and caches", () => {
  it.each([
    ["of an authenticated caller", "/api/v1/auth/me", true, 200, "private, no-store"],
    ["that refuse a caller", "/api/v1/auth/me", false, 401, "private, no-store"],
    ["that are public", "/health", false, 200, undefined],
  ])("%s", async (_what, path, signedIn, status, expected) => {
    const { token } = await services.signIn();
    const reply = await at(path, ...(signedIn ? [`Authorization: Bearer ${token}`] : []));
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([status, expected]);
  });
});

describe("offers to upgrade", () => {
  const offer = (id: string, ...lines: string[]) =>
    [
      "GET /health HTTP/1.1",
      "Host: a",
      `X-Request-Id: ${id}`,
      "Connection: Upgrade",
      "Upgrade: h2c",
      ...lines,
      "",
      "",
    ].join("\r\n");
  const plain = (id: string, path = "/health", ...lines: string[]) =>
    [`GET ${path} HTTP/1.1`, "Host: a", `X-Request-Id: ${id}`, ...lines, "", ""].join("\r\n");
  const idsOf = (replies: readonly { headers: Map<string, string> }[]) =>
    replies.map(({ headers }) => headers.get("x-request-id"));

  it("one after the other are all answered, in order", async () => {
    const bytes = `${offer("1")}${offer("2")}${offer("3")}${plain("4", "/health", "Connection: close")}`;
    const replies = await rawReplies(gateway.port, bytes);
    expect([idsOf(replies), replies.map(({ status }) => status)]).toEqual([
      ["1", "2", "3", "4"],
      [200, 200, 200, 200],
    ]);
  });

  it("for a channel after a request are answered after it", async () => {
    const websocket = [
      "GET /api/v1/agents/0190a000-0000-7000-8000-000000000000/channel HTTP/1.1",
      "Host: a",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "",
      "",
    ].join("\r\n");
    const replies = await rawReplies(gateway.port, `${plain("1", "/api/v1/auth/me")}${plain("2")}${websocket}`);
    expect(replies.map(({ status }) => status)).toEqual([401, 200, 401]);
    expect(idsOf(replies).slice(0, 2)).toEqual(["1", "2"]);
  });
});

describe("draining", () => {
  it("answers 503 where a dependency has already stopped", async () => {
    const other = await startTestGateway(services, { routes: [...routes, ...edgeRows] });
    const request = () => rawRequest(other.port, ["GET /api/v1/test/broken HTTP/1.1", "Host: a"]);
    expect((await request()).status).toBe(500);
    other.readiness.state = "draining";
    const reply = await request();
    expect([reply.status, reply.json.code, reply.headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
    await other.close();
  });

  it("closes connections with their replies and completes requests in flight", async () => {
    const other = await startTestGateway(services);
    const socket = await openSocket(other.port);
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("the first reply", () => parseReplies(text).length === 1);
    other.readiness.state = "draining";
    socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("the connection to end", () => socket.closed);
    expect(parseReplies(text).map(({ headers }) => headers.get("connection"))).toEqual(["keep-alive", "close"]);
    await other.close();
  });
});
