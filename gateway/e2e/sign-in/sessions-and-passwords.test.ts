import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { startMailServer } from "../support/mail-server.ts";
import { totpCode } from "../support/operator.ts";
import {
  enrollTotp,
  newOrganization,
  newPartner,
  operator,
  roleId,
  signedInAs,
  signInAgain,
  type TestUser,
  tokenOf,
} from "../support/users.ts";

// Two gateways, two identities, and a mail server of the test's own.

let mailServer: Awaited<ReturnType<typeof startMailServer>>;

let cluster: LentCluster;
let gateways: Cluster[];
beforeAll(async () => {
  cluster = await lentCluster("signIn");
  mailServer = await startMailServer(cluster.port);
  gateways = (await cluster.stack()).gateways.map(({ url }) => ({ ...cluster, url }));
  expect(gateways).toHaveLength(2);
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
  await mailServer?.close();
}, 60_000);

const first = () => gateways[0] as Cluster;
const second = () => gateways[1] as Cluster;
const refresh = (at: Cluster, refreshToken: unknown) => api(at).call("POST", "/auth/refresh", { refreshToken });
const me = async (at: Cluster, accessToken: unknown) => {
  const { status, body } = await api(at, String(accessToken)).call("GET", "/auth/me");
  return body.code ?? status;
};

/** A viewer of a new organization. */
async function viewer(): Promise<TestUser & { orgId: string }> {
  const orgId = await newOrganization(cluster, await newPartner(cluster));
  return { ...(await signedInAs(cluster, "org-viewer", { orgId })), orgId };
}

/** Audit rows about what a user did, once one of this action is there. */
async function auditOf(email: string, action: string) {
  const root = await operator(cluster);
  return until(`an audit row ${action}`, async () => {
    const { body } = await root.call("GET", `/audit-logs/logs?limit=100&user=${encodeURIComponent(email)}`);
    const rows = (body.data ?? []) as { action: string; result: string; details: unknown }[];
    const found = rows.filter((row) => row.action === action);
    return found.length > 0 ? found : null;
  });
}

/** The link of a user's newest mail with this subject, once it has arrived. */
async function linkTo(email: string, subject: string): Promise<URL> {
  const letter = await until(`a mail to ${email}`, () =>
    mailServer.letters.findLast(({ to, raw }) => to === email && raw.includes(`Subject: ${subject}`)),
  );
  const [link = ""] = /https?:\/\/localhost:\d+\/\S+/.exec(letter.raw) ?? [];
  return new URL(link);
}

describe("a session", () => {
  it("goes on for two tabs that refresh together, at two gateways, with one successor", async () => {
    const { refreshToken } = await viewer();
    const tabs = await Promise.all(
      gateways.flatMap((at) => Array.from({ length: 5 }, () => refresh(at, refreshToken))),
    );
    expect(tabs.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const successors = new Set(tabs.map(({ body }) => body.refreshToken));
    expect(successors.size).toBe(1);
    for (const { body } of tabs)
      expect([await me(first(), body.accessToken), await me(second(), body.accessToken)]).toEqual([200, 200]);
    expect((await refresh(second(), [...successors][0])).status).toBe(200);
  });

  it("goes on when the reply to a refresh is lost", async () => {
    const { refreshToken } = await viewer();
    const lost = await refresh(first(), refreshToken);
    const repeated = await refresh(second(), refreshToken);
    expect([repeated.status, repeated.body.refreshToken]).toEqual([200, lost.body.refreshToken]);
    expect((await refresh(first(), repeated.body.refreshToken)).status).toBe(200);
  });

  it("ends on every gateway when an old, possibly stolen token is presented again, and that is audited", async () => {
    const user = await viewer();
    const stolen = user.refreshToken;
    const newer = await refresh(first(), stolen);
    const newest = await refresh(second(), newer.body.refreshToken);
    expect([await me(first(), newest.body.accessToken), await me(second(), newest.body.accessToken)]).toEqual([
      200, 200,
    ]);
    const thief = await refresh(second(), stolen);
    expect([thief.status, thief.body.code]).toEqual([401, "invalid_refresh_token"]);
    for (const at of gateways) {
      for (const { accessToken } of [user, newer.body, newest.body]) {
        expect(await me(at, accessToken)).toBe("session_revoked");
      }
      for (const token of [stolen, newer.body.refreshToken, newest.body.refreshToken]) {
        expect((await refresh(at, token)).body.code).toBe("invalid_refresh_token");
      }
    }
    const rows = await auditOf(user.email, "session.revoke");
    expect(rows.map(({ result }) => result)).toEqual(["denied"]);
  });

  it("is ended from another one, everywhere once that is answered", async () => {
    const user = await viewer();
    const other = await signInAgain(second(), user);
    const list = async () => (await user.api.call("GET", "/auth/sessions")).body.data as Record<string, unknown>[];
    const sessions = await list();
    expect(sessions.map(({ current }) => current)).toEqual([false, true]);
    expect(sessions[0]).toMatchObject({ ipAddress: "127.0.0.1", device: expect.any(String), mfaAt: null });
    expect(await me(second(), other.accessToken)).toBe(200);
    expect((await user.api.call("DELETE", `/auth/sessions/${sessions[0]?.id}`)).body).toEqual({ success: true });
    for (const at of gateways) expect(await me(at, other.accessToken)).toBe("session_revoked");
    const third = await signInAgain(first(), user);
    expect((await third.api.call("DELETE", "/auth/sessions")).body).toEqual({ success: true });
    for (const at of gateways) {
      expect([await me(at, user.accessToken), await me(at, third.accessToken)]).toEqual(["session_revoked", 200]);
    }
  });
});

describe("a password", () => {
  it("is changed with the current one, and the other sessions end everywhere", async () => {
    const user = await viewer();
    const other = await signInAgain(second(), user);
    const change = (currentPassword: string) =>
      user.api.call("POST", "/auth/change-password", { currentPassword, newPassword: "a newer password than that" });
    const wrong = await change("not it");
    expect([wrong.status, wrong.body.code]).toEqual([401, "invalid_credentials"]);
    expect((await change(user.password)).body).toEqual({ success: true });
    for (const at of gateways) {
      expect([await me(at, other.accessToken), await me(at, user.accessToken)]).toEqual(["session_revoked", 200]);
    }
    await auditOf(user.email, "user.password.change");
  });

  it("when forgotten, is replaced by the link of a mail: once, and all sessions end", async () => {
    const user = await viewer();
    const forgot = (email: string) => api(first()).call("POST", "/auth/forgot-password", { email });
    const [existing, unknown] = [await forgot(user.email), await forgot("nobody@example.com")];
    expect([existing.status, existing.body]).toEqual([unknown.status, unknown.body]);
    expect(existing.body).toEqual({ success: true });
    const link = await linkTo(user.email, "Set a new Muster password");
    expect(link.pathname).toBe("/reset-password");
    expect(mailServer.letters.filter(({ to }) => to === "nobody@example.com")).toEqual([]);
    const password = "set by a link in a mail";
    const reset = () => api(second()).call("POST", "/auth/reset-password", { token: tokenOf(link), password });
    expect((await reset()).body).toEqual({ success: true });
    const again = await reset();
    expect([again.status, again.body.code]).toEqual([400, "invalid_token"]);
    for (const at of gateways) expect(await me(at, user.accessToken)).toBe("session_revoked");
    expect((await signInAgain(first(), { ...user, password })).accessToken).toBeTruthy();
    await auditOf(user.email, "user.password.reset");
    await until("the notice", () =>
      mailServer.letters.some((l) => l.to === user.email && l.raw.includes("password was changed")),
    );
  });

  it("is chosen by an invited user through the link of a mail", async () => {
    const root = await operator(cluster);
    const email = "invited@example.com";
    const made = await root.call("POST", "/users", {
      email,
      name: "Invited",
      roleId: await roleId(root, "platform-admin"),
    });
    const link = await linkTo(email, "You are invited to Muster");
    expect(String(link)).toBe(made.body.inviteUrl);
    const token = tokenOf(link);
    const password = "chosen by invitation";
    expect((await api(second()).call("POST", "/auth/accept-invite", { token, password })).status).toBe(200);
    expect((await signInAgain(first(), { email, password })).accessToken).toBeTruthy();
  });
});

describe("a second factor", () => {
  it("by recovery code is accepted once, though twenty requests bring it together to two gateways", async () => {
    const user = await viewer();
    const { recoveryCodes } = await enrollTotp(user);
    const login = (at: Cluster) => api(at).call("POST", "/auth/login", { email: user.email, password: user.password });
    const tokens = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => (await login(gateways[i % 2] as Cluster)).body.mfaToken),
    );
    const [code] = recoveryCodes;
    const replies = await Promise.all(
      tokens.map((mfaToken, i) => api(gateways[i % 2] as Cluster).call("POST", "/auth/mfa/verify", { mfaToken, code })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status !== 200 && status !== 401 && status !== 429)).toEqual([]);
  });

  it("by TOTP counts once: the same code does not step a session up again", async () => {
    const user = await viewer();
    const setup = await user.api.call("POST", "/auth/mfa/totp/setup", { password: user.password });
    const secret = String(setup.body.secret);
    const code = totpCode(secret);
    expect((await user.api.call("POST", "/auth/mfa/totp/enable", { code })).status).toBe(200);
    const replayed = await user.api.call("POST", "/auth/mfa/verify", { code });
    expect([replayed.status, replayed.body.code]).toEqual([401, "invalid_mfa_code"]);
  });
});

describe("ten wrong passwords", () => {
  it("lock out the address that sent them, and not the user who signs in from elsewhere", async () => {
    const user = await viewer();
    const { email } = user;
    const from = (by: Api, address: string, password: string) =>
      by.call("POST", "/auth/login", { email, password }, { "x-forwarded-for": address });
    for (let i = 0; i < 10; i++) expect((await from(api(first()), "203.0.113.77", "wrong")).status).toBe(401);
    for (const at of gateways) {
      expect((await from(api(at), "203.0.113.77", user.password)).body.code).toBe("rate_limited");
      expect((await from(api(at), "203.0.113.78", user.password)).status).toBe(200);
    }
  });
});
