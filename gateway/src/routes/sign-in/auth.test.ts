import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError, type Caller, type RequestMeta } from "@muster/kit";
import { callContext } from "@muster/rpc";
import { type FakeServices, startFakeServices } from "../../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

let services: FakeServices;
let gateway: TestGateway;

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, { env: { TRUST_PROXY_HEADERS: "true" } });
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

async function call(method: string, path: string, options: { token?: string; body?: unknown; headers?: object } = {}) {
  const reply = await fetch(`${gateway.url}/api/v1${path}`, {
    method,
    headers: {
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Record<string, unknown> };
}

describe("POST /auth/login", () => {
  it("returns user and tokens, uncacheable, and forwards address and user agent", async () => {
    const { principal } = await services.signIn({ mfaEnabled: true, partnerId: "" });
    let seen: { caller: Caller; meta: RequestMeta } | undefined;
    services.identity.login = (request, handler) => {
      seen = callContext(handler);
      expect(request).toMatchObject({ email: "ada@example.com", password: "secret" });
      return { principal, tokens: { accessToken: "a", refreshToken: "r", expiresInSeconds: 900 } };
    };
    const { status, headers, body } = await call("POST", "/auth/login", {
      body: { email: "ada@example.com", password: "secret", more: 1 },
      headers: {
        "x-request-id": "r-1",
        "x-forwarded-for": "192.0.2.44",
        "user-agent": "test/1",
        "muster-client-address": "203.0.113.1",
        "muster-caller": "forged",
      },
    });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-request-id")).toBe("r-1");
    expect(body).toEqual({
      user: {
        id: principal.userId,
        email: "ada@example.com",
        name: "Ada Admin",
        scope: "system",
        partnerId: null,
        orgId: null,
        permissions: ["organizations:read", "organizations:write", "audit:read"],
        mfaEnabled: true,
        secondFactorRequired: false,
      },
      accessToken: "a",
      refreshToken: "r",
      expiresInSeconds: 900,
    });
    expect(seen?.caller.actor).toMatchObject({ type: "system", id: "gateway" });
    expect(seen?.meta).toMatchObject({ requestId: "r-1", clientAddress: "192.0.2.44", userAgent: "test/1" });
  });

  it("forwards a refusal unchanged, uncacheable too", async () => {
    services.identity.login = () => {
      throw new AppError("invalid_credentials", "Invalid e-mail or password");
    };
    const { status, headers, body } = await call("POST", "/auth/login", { body: { email: "a@b.c", password: "x" } });
    expect([status, body.code, body.error]).toEqual([401, "invalid_credentials", "Invalid e-mail or password"]);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("names each invalid field", async () => {
    const { status, body } = await call("POST", "/auth/login", { body: { email: 1 } });
    expect(status).toBe(400);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual(["email", "password"]);
  });
});

describe("POST /auth/refresh", () => {
  it("returns the next pair of tokens", async () => {
    services.identity.refresh = ({ refreshToken }) => ({
      tokens: { accessToken: `${refreshToken}-a`, refreshToken: `${refreshToken}-r`, expiresInSeconds: 900 },
    });
    const { status, body } = await call("POST", "/auth/refresh", { body: { refreshToken: "t" } });
    expect([status, body]).toEqual([200, { accessToken: "t-a", refreshToken: "t-r", expiresInSeconds: 900 }]);
  });
});

describe("GET /auth/me", () => {
  it("returns the caller without another call to identity", async () => {
    const { token, principal } = await services.signIn({
      scope: "partner",
      partnerId: "018f0000-0000-7000-8000-00000000000a",
      orgAccess: "selected",
      orgIds: ["018f0000-0000-7000-8000-00000000000b"],
    });
    const resolved = services.resolved();
    for (let i = 0; i < 5; i++) {
      const { status, headers, body } = await call("GET", "/auth/me", { token });
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("private, no-store");
      expect(body).toEqual({
        id: principal.userId,
        email: "ada@example.com",
        name: "Ada Admin",
        scope: "partner",
        partnerId: "018f0000-0000-7000-8000-00000000000a",
        orgId: null,
        permissions: principal.permissions,
        mfaEnabled: false,
        secondFactorRequired: false,
        role: "platform-admin",
        orgAccess: "selected",
        orgIds: ["018f0000-0000-7000-8000-00000000000b"],
        siteIds: null,
      });
    }
    expect(services.resolved() - resolved).toBe(1);
  });

  it.each([
    ["no credential", async () => undefined, "unauthenticated"],
    ["rubbish", async () => "rubbish", "unauthenticated"],
    [
      "an expired token",
      async () => services.mint((await services.signIn()).principal, { expiresInSeconds: -1 }),
      "token_expired",
    ],
    [
      "a session that has ended",
      async () => {
        const { token, principal } = await services.signIn();
        services.users.delete(principal.sessionId);
        return token;
      },
      "session_revoked",
    ],
  ])("answers 401 for %s", async (_what, tokenOf, code) => {
    const token = await tokenOf();
    const { status, headers, body } = await call("GET", "/auth/me", token === undefined ? {} : { token });
    expect([status, body.code]).toEqual([401, code]);
    expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  it("answers 503, not 401, while identity is unavailable", async () => {
    const { token } = await services.signIn();
    const lonely = await startTestGateway({ url: "http://127.0.0.1:1", callerKeys: services.callerKeys });
    const startedMs = performance.now();
    const reply = await fetch(`${lonely.url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${token}` } });
    expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
    expect(reply.headers.get("retry-after")).toBe("1");
    // Long before the request's deadline of 10 s, also on a machine that is busy.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    await lonely.close();
  });
});

describe("POST /auth/logout", () => {
  it("ends the session at this gateway at once, whatever identity would still answer", async () => {
    const { token } = await services.signIn();
    expect((await call("GET", "/auth/me", { token })).status).toBe(200);
    const { status, body } = await call("POST", "/auth/logout", { token });
    expect([status, body]).toEqual([200, { success: true }]);
    const after = await call("GET", "/auth/me", { token });
    expect([after.status, after.body.code]).toEqual([401, "session_revoked"]);
  });

  it("acts as the user of the session", async () => {
    const { token, principal } = await services.signIn();
    let caller: Caller | undefined;
    services.identity.logout = (_request, handler) => {
      caller = callContext(handler).caller;
      return {};
    };
    await call("POST", "/auth/logout", { token });
    expect(caller).toMatchObject({ actor: { type: "user", id: principal.userId }, sessionId: principal.sessionId });
  });
});
