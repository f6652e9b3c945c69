import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { type FakeServices, startFakeServices } from "../../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

let services: FakeServices;
let plain: TestGateway;
let secure: TestGateway;

beforeAll(async () => {
  services = await startFakeServices();
  plain = await startTestGateway(services, { env: { PUBLIC_URL: "http://localhost:3000" } });
  secure = await startTestGateway(services, { env: { PUBLIC_URL: "https://muster.example" } });
});

afterAll(async () => {
  await Promise.all([plain.close(), secure.close()]);
  await services.close();
});

const credentials = { email: "ada@example.com", password: "secret" };
const own = { "sec-fetch-site": "same-origin" };

beforeEach(async () => {
  const { principal } = await services.signIn();
  services.identity.login = () => ({
    principal,
    tokens: { accessToken: "access", refreshToken: "r1", expiresInSeconds: 900 },
  });
  services.identity.refresh = ({ refreshToken }) => {
    if (refreshToken !== "r1") throw new AppError("invalid_refresh_token", "Invalid refresh token");
    return { tokens: { accessToken: "access2", refreshToken: "r2", expiresInSeconds: 900 } };
  };
});

async function post(gateway: TestGateway, path: string, body: object, headers: Record<string, string> = {}) {
  const reply = await fetch(`${gateway.url}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const { status } = reply;
  const cookies = reply.headers.getSetCookie();
  return { status, cookies, body: (await reply.json()) as Record<string, unknown> };
}

describe("a sign-in with session: cookie", () => {
  it("leaves the refresh token in a cookie that scripts cannot read, and out of the reply", async () => {
    const { status, cookies, body } = await post(secure, "/auth/login", { ...credentials, session: "cookie" }, own);
    expect([status, body.accessToken]).toEqual([200, "access"]);
    expect(body).not.toHaveProperty("refreshToken");
    expect(cookies).toEqual(["__Host-service_session=r1; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000; Secure"]);
  });

  it("has a plain name and is not Secure where the public address is plain http", async () => {
    const { cookies } = await post(plain, "/auth/login", { ...credentials, session: "cookie" }, own);
    expect(cookies).toEqual(["service_session=r1; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000"]);
  });

  it.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["a sibling domain", { "sec-fetch-site": "same-site" }],
    ["another origin of a browser without fetch metadata", { origin: "https://evil.example" }],
    ["a program", {}],
  ])("is refused to %s before identity is called", async (_who, headers) => {
    services.identity.login = () => {
      throw new Error("identity was asked");
    };
    const { status, cookies, body } = await post(
      plain,
      "/auth/login",
      { ...credentials, session: "cookie" },
      headers as Record<string, string>,
    );
    expect([status, body.code, cookies]).toEqual([403, "cross_origin", []]);
  });
});

describe("a sign-in without session", () => {
  it("returns both tokens and sets no cookie, also to a page of this origin", async () => {
    const { body, cookies } = await post(plain, "/auth/login", credentials, own);
    expect([body.refreshToken, cookies]).toEqual(["r1", []]);
  });
});

describe("POST /auth/refresh by cookie", () => {
  it("returns the next access token and sets the next cookie", async () => {
    const headers = { ...own, cookie: "other=1; __Host-service_session=r1" };
    const { status, cookies, body } = await post(secure, "/auth/refresh", {}, headers);
    expect([status, body]).toEqual([200, { accessToken: "access2", expiresInSeconds: 900 }]);
    expect(cookies[0]).toMatch(/^__Host-service_session=r2;/);
  });

  it("does not read a cookie without the prefix where the prefix is possible", async () => {
    const { status, body } = await post(secure, "/auth/refresh", {}, { ...own, cookie: "service_session=r1" });
    expect([status, body.code]).toEqual([401, "invalid_refresh_token"]);
  });

  it.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["an Origin elsewhere", { origin: "http://localhost:1" }],
    ["no word of a browser", {}],
  ])("is refused with %s", async (_who, headers) => {
    const { status, body } = await post(plain, "/auth/refresh", {}, { ...headers, cookie: "service_session=r1" });
    expect([status, body.code]).toEqual([403, "cross_origin"]);
  });

  it("ignores the cookie when the body has a token: non-browser clients are unaffected", async () => {
    const headers = { cookie: "service_session=other" };
    const { status, body, cookies } = await post(plain, "/auth/refresh", { refreshToken: "r1" }, headers);
    expect([status, body.refreshToken, cookies]).toEqual([200, "r2", []]);
  });
});

describe("POST /auth/logout", () => {
  it("removes the cookie that was sent, and sets none for other clients", async () => {
    const first = await services.signIn();
    const authorization = `Bearer ${first.token}`;
    const left = await post(plain, "/auth/logout", {}, { authorization, cookie: "service_session=r1" });
    expect([left.status, left.body]).toEqual([200, { success: true }]);
    expect(left.cookies).toEqual(["service_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"]);
    const second = await services.signIn();
    expect((await post(plain, "/auth/logout", {}, { authorization: `Bearer ${second.token}` })).cookies).toEqual([]);
  });
});

describe("a cookie on any other route", () => {
  it("is no credential", async () => {
    const reply = await fetch(`${plain.url}/api/v1/auth/me`, { headers: { cookie: "service_session=r1", ...own } });
    expect(reply.status).toBe(401);
  });
});
