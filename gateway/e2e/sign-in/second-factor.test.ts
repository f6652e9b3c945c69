import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { totpCode } from "../support/operator.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrollTotp, operator, roleId, signedInAs, type TestUser } from "../support/users.ts";

let cluster: Cluster;
let outsider: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  outsider = api(cluster);
}, 180_000);

const somebody = () => signedInAs(cluster, "platform-admin");
const login = ({ email, password }: TestUser) => outsider.call("POST", "/auth/login", { email, password });
const verify = (by: Api, body: object) => by.call("POST", "/auth/mfa/verify", body);

/** Calls a route that needs a completed second factor; returns its answer. */
async function guarded(by: Api, email: string): Promise<unknown> {
  const root = await operator(cluster);
  const wanted = { email: `second-${email}`, name: "Second", roleId: await roleId(root, "platform-admin") };
  const { status, body } = await by.call("POST", "/users", wanted);
  return body.code ?? status;
}

describe("a second factor", () => {
  it("is enrolled by password and code, opens what needs it at once, and stays out of caches", async () => {
    const user = await somebody();
    expect(await guarded(user.api, user.email)).toBe("mfa_required");
    const setup = await user.api.call("POST", "/auth/mfa/totp/setup", { password: user.password });
    expect(setup.status).toBe(200);
    expect(setup.headers.get("cache-control")).toBe("private, no-store");
    expect(setup.body).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauthUrl: expect.stringContaining("otpauth://totp/Muster"),
      qrCodeDataUrl: expect.stringMatching(/^data:image\/png;base64,/),
    });
    const enabled = await user.api.call("POST", "/auth/mfa/totp/enable", {
      code: totpCode(String(setup.body.secret)),
    });
    expect(enabled.body.recoveryCodes).toHaveLength(10);
    expect((await user.api.call("GET", "/auth/me")).body.mfaEnabled).toBe(true);
    expect(await guarded(user.api, user.email)).toBe(201);
  });

  it("is required at sign-in, and a recovery code works once", async () => {
    const user = await somebody();
    const { recoveryCodes } = await enrollTotp(user);
    const first = await login(user);
    expect(first.body).toEqual({
      mfaRequired: true,
      mfaToken: expect.stringMatching(/^mfa_[\w-]{43}$/),
      methods: ["totp", "recovery_code"],
    });
    const { mfaToken } = first.body;
    const done = await verify(outsider, { mfaToken, code: recoveryCodes[0] });
    expect(done.status).toBe(200);
    expect(done.body).toMatchObject({ user: { email: user.email, mfaEnabled: true }, expiresInSeconds: 900 });
    expect(await guarded(api(cluster, String(done.body.accessToken)), user.email)).toBe(201);
    const reused = await verify(outsider, { mfaToken, code: recoveryCodes[1] });
    expect([reused.status, reused.body.code]).toEqual([401, "invalid_mfa_token"]);
    const again = await verify(outsider, { mfaToken: (await login(user)).body.mfaToken, code: recoveryCodes[0] });
    expect([again.status, again.body.code]).toEqual([401, "invalid_mfa_code"]);
  });

  it("steps a session up that the gateway remembers without it, with the same refresh token", async () => {
    const user = await somebody();
    // A second session of the user, whose factor comes by the first one.
    const second = await login(user);
    const session = api(cluster, String(second.body.accessToken));
    expect((await session.call("GET", "/auth/me")).status).toBe(200);
    const { recoveryCodes } = await enrollTotp(user);
    expect(await guarded(session, user.email)).toBe("mfa_required");
    const stepped = await verify(session, { code: recoveryCodes[0] });
    expect(stepped.status).toBe(200);
    expect(stepped.body.refreshToken).toBe(second.body.refreshToken);
    expect(await guarded(session, user.email)).toBe(201);
  });

  it("answers 429 with Retry-After once five codes were wrong", async () => {
    const user = await somebody();
    const { recoveryCodes } = await enrollTotp(user);
    const { mfaToken } = (await login(user)).body;
    const wrong = await Promise.all(Array.from({ length: 8 }, () => verify(outsider, { mfaToken, code: "AAAA-BBBB" })));
    expect(wrong.map((reply) => reply.status).sort()).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const right = await verify(outsider, { mfaToken, code: recoveryCodes[0] });
    expect([right.status, right.body.code]).toEqual([429, "rate_limited"]);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(200);
  });

  it("is removed with password and code, and then the session needs a new one", async () => {
    const user = await somebody();
    const { recoveryCodes } = await enrollTotp(user);
    const remove = (body: object) => user.api.call("POST", "/auth/mfa/totp/disable", body);
    const wrong = await remove({ password: "not it", code: recoveryCodes[0] });
    expect([wrong.status, wrong.body.code]).toEqual([401, "invalid_credentials"]);
    expect((await remove({ password: user.password, code: recoveryCodes[0] })).body).toEqual({ success: true });
    expect(await guarded(user.api, user.email)).toBe("mfa_required");
    expect((await login(user)).body.accessToken).toBeDefined();
  });

  it("is reset by an administrator: its sessions end, and the user signs in without and enrolls a new one", async () => {
    const user = await somebody();
    const { recoveryCodes } = await enrollTotp(user);
    const { mfaToken } = (await login(user)).body;
    const root = await operator(cluster);
    const reset = await root.call("DELETE", `/users/${user.id}/factors`);
    expect([reset.status, reset.body]).toEqual([200, { totp: true, passkeys: 0, ended: 1 }]);
    const ended = await user.api.call("GET", "/auth/me");
    expect([ended.status, ended.body.code]).toEqual([401, "session_revoked"]);
    expect((await verify(outsider, { mfaToken, code: recoveryCodes[0] })).body.code).toBe("invalid_mfa_token");
    const again = await login(user);
    const plain = api(cluster, String(again.body.accessToken));
    expect((await plain.call("GET", "/auth/mfa")).body).toEqual({ totp: false, passkeys: 0, recoveryCodes: 0 });
    expect((await enrollTotp({ ...user, api: plain })).recoveryCodes).toHaveLength(10);
    const plainAdmin = await somebody();
    const refused = await plainAdmin.api.call("DELETE", `/users/${user.id}/factors`);
    expect([refused.status, refused.body.code]).toEqual([403, "mfa_required"]);
  });

  it("gets new recovery codes, and earlier ones stop working", async () => {
    const user = await somebody();
    const { recoveryCodes: old } = await enrollTotp(user);
    expect((await user.api.call("GET", "/auth/mfa")).body).toEqual({ totp: true, passkeys: 0, recoveryCodes: 10 });
    const made = await user.api.call("POST", "/auth/mfa/recovery-codes");
    expect([made.status, made.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    const codes = made.body.recoveryCodes as string[];
    const signIn = async (code = "") =>
      (await verify(outsider, { mfaToken: (await login(user)).body.mfaToken, code })).status;
    expect([await signIn(old[0]), await signIn(codes[0])]).toEqual([401, 200]);
    const second = await somebody();
    const refused = await second.api.call("POST", "/auth/mfa/recovery-codes");
    expect([refused.status, refused.body.code]).toEqual([403, "mfa_required"]);
  });

  it("leaves one audit row of each step, and no secret", async () => {
    const user = await somebody();
    const { secret, recoveryCodes } = await enrollTotp(user);
    await verify(user.api, { code: recoveryCodes[0] });
    await verify(user.api, { code: "000000" });
    await user.api.call("POST", "/auth/mfa/totp/disable", { password: user.password, code: recoveryCodes[1] });
    const root = await operator(cluster);
    const rows = await until("the rows", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?limit=100&user=${encodeURIComponent(user.email)}`);
      const all = (body.data ?? []) as { action: string; result: string }[];
      expect(JSON.stringify(all)).not.toContain(secret);
      return all.some((row) => row.action === "user.mfa.disable") ? all : null;
    });
    expect(rows.map((row) => `${row.action} ${row.result}`).sort()).toEqual([
      "user.invite.accept success",
      "user.login success",
      "user.login.failed failure",
      "user.mfa.disable success",
      "user.mfa.enable success",
      "user.mfa.setup success",
      "user.mfa.verify success",
    ]);
  });

  it.each([
    ["/auth/mfa/verify", {}, "code"],
    ["/auth/mfa/verify", { code: "x".repeat(65) }, "code"],
    ["/auth/mfa/verify", { code: "123456", mfaToken: "" }, "mfaToken"],
    ["/auth/mfa/totp/setup", {}, "password"],
    ["/auth/mfa/totp/enable", { code: "12345" }, "code"],
    ["/auth/mfa/totp/enable", { code: "12345x" }, "code"],
    ["/auth/mfa/totp/disable", { code: "123456" }, "password"],
  ])("answers 400 at %s for %j, naming %s", async (path, body, field) => {
    const reply = await (await operator(cluster)).call("POST", path, body);
    expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((reply.body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
  });

  it("needs a session, or the token of a sign-in", async () => {
    for (const path of ["totp/setup", "totp/enable", "totp/disable"]) {
      expect((await outsider.call("POST", `/auth/mfa/${path}`, {})).status).toBe(401);
    }
    const none = await verify(outsider, { code: "123456" });
    expect([none.status, none.body.code]).toEqual([401, "unauthenticated"]);
    const unknown = await verify(outsider, { mfaToken: "mfa_x", code: "123456" });
    expect([unknown.status, unknown.body.code]).toEqual([401, "invalid_mfa_token"]);
  });
});
