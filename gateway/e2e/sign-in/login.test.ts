import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { api, signIn } from "../support/client.ts";
import { admin, type Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await sharedCluster();
}, 180_000);

describe("signing in", () => {
  it("returns tokens that open /auth/me, never to be cached", async () => {
    const { status, body, headers } = await api(cluster).call("POST", "/auth/login", admin);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({
      user: { email: admin.email, scope: "system", partnerId: null, orgId: null, mfaEnabled: false },
      expiresInSeconds: 900,
    });
    const me = await api(cluster, body.accessToken as string).call("GET", "/auth/me");
    expect(me.status).toBe(200);
    expect(me.body).toMatchObject({ id: (body.user as { id: string }).id, role: "platform-admin" });
    expect(me.headers.get("x-request-id")).toMatch(/\S{8,}/);
  });

  it("signs tokens that a stock JOSE library verifies against the published keys", async () => {
    const { accessToken, user } = await signIn(cluster);
    const keys = createRemoteJWKSet(new URL(`${cluster.url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(accessToken, keys, { issuer: "muster", audience: "muster-api", typ: "at+jwt" });
    expect(payload.sub).toBe(user.id);
  });

  it.each([
    ["a wrong password", { ...admin, password: "wrong" }],
    ["an unknown account", { ...admin, email: "nobody@example.com" }],
  ])("answers %s with the one refusal", async (_name, body) => {
    const reply = await api(cluster).call("POST", "/auth/login", body);
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual({
      error: "Invalid email or password",
      code: "invalid_credentials",
      requestId: reply.headers.get("x-request-id"),
    });
  });

  it.each([
    [{}, ["email", "password"]],
    [{ email: 7, password: "x" }, ["email"]],
    [{ email: admin.email, password: "x".repeat(2_000) }, ["password"]],
    [{ email: "a\u0000@example.com", password: "x" }, ["email"]],
  ])("names the bad fields of %j", async (body, fields) => {
    const reply = await api(cluster).call("POST", "/auth/login", body);
    expect(reply.status).toBe(400);
    expect(reply.body.code).toBe("validation_failed");
    const { fieldErrors } = reply.body.details as { fieldErrors: object };
    expect(Object.keys(fieldErrors).sort()).toEqual([...fields].sort());
  });
});

describe("a session", () => {
  it("goes on by refresh, and the same refresh token answers twice with the same successor", async () => {
    const { refreshToken } = await signIn(cluster);
    const first = await api(cluster).call("POST", "/auth/refresh", { refreshToken });
    const second = await api(cluster).call("POST", "/auth/refresh", { refreshToken });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.refreshToken).toBe(first.body.refreshToken);
    const me = await api(cluster, first.body.accessToken as string).call("GET", "/auth/me");
    expect(me.status).toBe(200);
  });

  it("ends at once by logout, for access and refresh tokens alike", async () => {
    const { accessToken, refreshToken } = await signIn(cluster);
    const mine = api(cluster, accessToken);
    expect((await mine.call("GET", "/auth/me")).status).toBe(200);
    expect((await mine.call("POST", "/auth/logout")).body).toEqual({ success: true });
    const after = await mine.call("GET", "/auth/me");
    expect([after.status, after.body.code]).toEqual([401, "session_revoked"]);
    const refreshed = await api(cluster).call("POST", "/auth/refresh", { refreshToken });
    expect([refreshed.status, refreshed.body.code]).toEqual([401, "invalid_refresh_token"]);
  });

  it("leaves sign-in and sign-out in the platform's audit trail", async () => {
    const { accessToken, user } = await signIn(cluster);
    await api(cluster, accessToken).call("POST", "/auth/logout");
    const reader = api(cluster, (await signIn(cluster)).accessToken);
    const found = await until("both audit rows", async () => {
      const { body } = await reader.call("GET", "/audit-logs/logs?limit=100&action=user.log");
      const rows = (body.data ?? []) as { action: string; user: { id: string }; category: string }[];
      const mine = rows.filter((r) => r.user.id === user.id);
      return mine.some((r) => r.action === "user.logout") ? mine : null;
    });
    expect(found.some((r) => r.action === "user.login")).toBe(true);
    expect(new Set(found.map((r) => r.category))).toEqual(new Set(["authentication"]));
  });

  it.each([
    ["no credential", {}, "unauthenticated"],
    ["a token that is none", { authorization: "Bearer nonsense" }, "unauthenticated"],
    ["another scheme", { authorization: "Basic YTpi" }, "unauthenticated"],
    ["an unsigned token", { authorization: `Bearer ${unsigned()}` }, "unauthenticated"],
  ])("is not there with %s", async (_name, headers, code) => {
    const reply = await api(cluster).call("GET", "/auth/me", undefined, headers);
    expect([reply.status, reply.body.code]).toEqual([401, code]);
    expect(reply.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });
});

function unsigned(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 600;
  return `${part({ alg: "none", typ: "at+jwt" })}.${part({ iss: "muster", aud: "muster-api", sub: "x", sid: "y", exp })}.`;
}
