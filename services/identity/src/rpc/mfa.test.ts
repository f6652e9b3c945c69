import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers, until } from "@muster/testing";
import { Secret, TOTP } from "otpauth";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());
// Each test uses its own minute, so that its steps and coalesced failures do not overlap with another test's.
beforeEach(() => pass(120_000));

const password = "a long enough password";
const pass = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};
const codeAt = (secret: string, offsetMs = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: identity.clock.now.getTime() + offsetMs });
/** Six digits that fit no step near now. */
const wrongCode = (secret: string) => {
  const right = [-60_000, -30_000, 0, 30_000, 60_000].map((ms) => codeAt(secret, ms));
  return ["000000", "111111", "222222", "333333", "444444", "555555"].find((code) => !right.includes(code)) ?? "";
};

type User = { userId: string; email: string };

/** An active platform administrator; all users have the same password. */
async function user(): Promise<User> {
  const email = `${uuidv7()}@example.com`;
  const root = identity.usersAs(await identity.user(callers.platformAdmin()));
  const { user, inviteToken } = await root.inviteUser({
    email,
    name: "Ada",
    roleId: identity.roleId("platform-admin"),
  });
  await identity.usersAs(callers.service("gateway")).acceptInvite({ token: inviteToken, password });
  return { userId: user?.id ?? "", email };
}

const login = ({ email }: User) => identity.anonymous().login({ email, password });

async function signedIn(who: User): Promise<Caller> {
  const { principal } = await login(who);
  return callers.platformAdmin({ actor: { id: who.userId, email: who.email }, sessionId: principal?.sessionId ?? "" });
}

async function enrolled(): Promise<User & { secret: string; caller: Caller; recoveryCodes: string[] }> {
  const who = await user();
  const caller = await signedIn(who);
  const { secret } = await identity.mfaAs(caller).setupTotp({ password });
  const { recoveryCodes } = await identity.mfaAs(caller).enableTotp({ code: codeAt(secret) });
  pass(120_000);
  return { ...who, secret, caller, recoveryCodes };
}

const verify = (mfaToken: string, code: string) =>
  identity.mfaAs(callers.service("gateway")).verifyMfa({ mfaToken, code });
const resolve = ({ actor, sessionId }: Caller) =>
  identity.anonymous().resolveSession({ userId: actor.id, sessionId: sessionId ?? "" });
const actionsOf = async (userId: string) =>
  (await identity.auditOf(userId)).map((row) => `${row.action} ${row.result}`).slice(2);

describe("enrolling TOTP", () => {
  it("needs the password, then a first code, and counts as a completed challenge of that session", async () => {
    const who = await user();
    const caller = await signedIn(who);
    const mfa = identity.mfaAs(caller);
    expect(await codeOf(mfa.enableTotp({ code: "123456" }))).toBe("mfa_not_enabled");
    expect(await codeOf(mfa.setupTotp({ password: "not it" }))).toBe("invalid_credentials");
    const { secret, otpauthUrl, qrCodeDataUrl } = await mfa.setupTotp({ password });
    expect(otpauthUrl).toMatch(/^otpauth:\/\/totp\/Muster:.*issuer=Muster&secret=[A-Z2-7]{32}/);
    expect(qrCodeDataUrl).toMatch(/^data:image\/png;base64,/);
    const before = (await resolve(caller)).principal;
    expect([before?.mfaEnabled, before?.mfaAt]).toEqual([false, undefined]);
    expect(await codeOf(mfa.enableTotp({ code: wrongCode(secret) }))).toBe("invalid_mfa_code");
    const { recoveryCodes } = await mfa.enableTotp({ code: codeAt(secret) });
    expect(new Set(recoveryCodes).size).toBe(10);
    const { principal } = await resolve(caller);
    expect(principal).toMatchObject({ mfaEnabled: true, userVersion: 3 });
    expect(Number(principal?.mfaAt?.seconds)).toBe(Math.floor(identity.clock.now.getTime() / 1000));
    expect(await codeOf(mfa.setupTotp({ password }))).toBe("mfa_already_enabled");
    expect(await codeOf(mfa.enableTotp({ code: codeAt(secret, 30_000) }))).toBe("mfa_already_enabled");
    expect(await actionsOf(who.userId)).toEqual([
      "user.login success",
      "user.login.failed failure",
      "user.mfa.setup success",
      "user.mfa.enable success",
    ]);
    const events = await identity.db.read(
      identity.system,
      sql`SELECT 1 FROM outbox WHERE subject = 'auth.user' AND msg_id LIKE ${`%user-${who.userId}-%`}`,
    );
    expect(events).toHaveLength(2);
  });

  it("stores the secret and recovery codes only sealed or hashed, and keeps them out of the audit trail", async () => {
    const { userId, caller, secret, recoveryCodes } = await enrolled();
    const raw = Buffer.from(Secret.fromBase32(secret).buffer);
    const rows = await identity.db.read<{ secret: Buffer; code_hash: Buffer }>(
      { caller },
      sql`SELECT t.secret, c.code_hash FROM user_totp t JOIN recovery_codes c USING (user_id)`,
    );
    expect(rows).toHaveLength(10);
    for (const row of rows) {
      expect(row.secret.includes(raw)).toBe(false);
      expect(row.code_hash).toHaveLength(32);
    }
    const trail = JSON.stringify((await identity.auditOf(userId)).map((row) => row.detailsJson));
    for (const word of [secret, ...recoveryCodes]) expect(trail).not.toContain(word);
  });

  it("is visible to its user only", async () => {
    const { userId } = await enrolled();
    for (const caller of [callers.platformAdmin(), callers.service("identity")]) {
      expect(await identity.db.read({ caller }, sql`SELECT 1 FROM user_totp WHERE user_id = ${userId}`)).toEqual([]);
    }
  });
});

describe("signing in with a second factor", () => {
  it("requires it, and returns tokens and emits one user.login when it is right", async () => {
    const who = await enrolled();
    const { mfaToken, methods, tokens, principal } = await login(who);
    expect(tokens).toBeUndefined();
    expect(principal).toBeUndefined();
    expect(methods).toEqual(["totp", "recovery_code"]);
    const reply = await verify(mfaToken, codeAt(who.secret));
    expect(reply.principal).toMatchObject({ userId: who.userId, mfaEnabled: true });
    expect(reply.principal?.mfaAt).toBeDefined();
    expect(reply.tokens?.refreshToken).toMatch(/^rt_/);
    expect(await codeOf(verify(mfaToken, codeAt(who.secret, 30_000)))).toBe("invalid_mfa_token");
    const logins = (await identity.auditOf(who.userId)).filter((row) => row.action === "user.login");
    expect(logins.map((row) => row.sessionId)).toEqual([who.caller.sessionId, reply.principal?.sessionId]);
  });

  it("accepts a code once, one step early or late, even from many concurrent requests", async () => {
    const who = await enrolled();
    const code = codeAt(who.secret, -30_000);
    const challenges = await Promise.all([1, 2, 3, 4].map(() => login(who)));
    const codes = await Promise.all(challenges.map(({ mfaToken }) => codeOf(verify(mfaToken, code))));
    expect(codes.filter((c) => c === "answered")).toHaveLength(1);
    expect(codes.filter((c) => c === "invalid_mfa_code")).toHaveLength(3);
    pass(300_001);
    const later = [-60_000, 60_000, 30_000].map(async (ms) =>
      codeOf(verify((await login(who)).mfaToken, codeAt(who.secret, ms))),
    );
    expect(await Promise.all(later)).toEqual(["invalid_mfa_code", "invalid_mfa_code", "answered"]);
  });

  it("completes a token once, even with many concurrent right codes", async () => {
    const who = await enrolled();
    const { mfaToken } = await login(who);
    const [first = "", second = ""] = who.recoveryCodes;
    const tries = [first, second, codeAt(who.secret)].map((code) => codeOf(verify(mfaToken, code)));
    expect((await Promise.all(tries)).sort()).toEqual(["answered", "invalid_mfa_token", "invalid_mfa_token"]);
    const unused = await identity.db.read(
      { caller: who.caller },
      sql`SELECT 1 FROM recovery_codes WHERE used_at IS NULL`,
    );
    expect(unused.length).toBeGreaterThanOrEqual(9);
  });

  it("accepts each recovery code once, in any spelling", async () => {
    const who = await enrolled();
    const [code = ""] = who.recoveryCodes;
    const challenges = await Promise.all([1, 2, 3].map(() => login(who)));
    const typed = [code, code.toLowerCase().replaceAll("-", ""), ` ${code.replaceAll("-", " ")} `];
    const codes = await Promise.all(challenges.map(({ mfaToken }, i) => codeOf(verify(mfaToken, typed[i] ?? ""))));
    expect(codes.sort()).toEqual(["answered", "invalid_mfa_code", "invalid_mfa_code"]);
  });

  it("expires after five minutes", async () => {
    const who = await enrolled();
    const { mfaToken } = await login(who);
    pass(300_001);
    expect(await codeOf(verify(mfaToken, codeAt(who.secret)))).toBe("invalid_mfa_token");
    for (const token of ["mfa_x", "x"]) expect(await codeOf(verify(token, "123456"))).toBe("invalid_mfa_token");
  });

  it("stops after five failures, counted once each although concurrent, with a Retry-After", async () => {
    const who = await enrolled();
    const { mfaToken } = await login(who);
    const wrong = wrongCode(who.secret);
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => codeOf(verify(mfaToken, wrong))));
    expect(outcomes.filter((code) => code === "invalid_mfa_code")).toHaveLength(5);
    expect(outcomes.filter((code) => code === "rate_limited")).toHaveLength(7);
    pass(60_000);
    const right = await outcomeOf(verify(mfaToken, codeAt(who.secret)));
    expect(right).toEqual({ code: "rate_limited", retryAfterSeconds: 240 });
    const another = await login(who);
    expect(await codeOf(verify(another.mfaToken, codeAt(who.secret)))).toBe("rate_limited");
    pass(240_001);
    expect(await codeOf(verify((await login(who)).mfaToken, codeAt(who.secret)))).toBe("answered");
    const failures = (await identity.auditOf(who.userId)).filter((row) => row.action === "user.login.failed");
    expect(failures.map((row) => row.result)).toEqual(["failure"]);
  });
});

describe("stepping up", () => {
  it("records the second factor in the session and returns the same refresh token with a newer access token", async () => {
    const who = await user();
    const plain = await login(who);
    const caller = callers.platformAdmin({
      actor: { id: who.userId, email: who.email },
      sessionId: plain.principal?.sessionId ?? "",
    });
    expect(await codeOf(identity.mfaAs(caller).verifyMfa({ code: "123456" }))).toBe("mfa_not_enabled");
    const { secret } = await identity.mfaAs(caller).setupTotp({ password });
    await identity.mfaAs(caller).enableTotp({ code: codeAt(secret) });
    pass(3_600_000);
    expect(await codeOf(identity.mfaAs(caller).verifyMfa({ code: wrongCode(secret) }))).toBe("invalid_mfa_code");
    const stepped = await identity.mfaAs(caller).verifyMfa({ code: codeAt(secret) });
    expect(stepped.tokens?.refreshToken).toBe(plain.tokens?.refreshToken);
    expect(stepped.principal?.sessionId).toBe(caller.sessionId);
    expect((await resolve(caller)).principal?.mfaAt).toEqual(stepped.principal?.mfaAt);
    expect((await actionsOf(who.userId)).at(-1)).toBe("user.mfa.verify success");
  });

  it("requires a user's session", async () => {
    expect(await codeOf(verify("", "123456"))).toBe("user_session_required");
    expect(await codeOf(identity.mfaAs(callers.service("gateway")).setupTotp({ password }))).not.toBe("answered");
  });
});

describe("removing the factor", () => {
  it("needs password and code, and removes the second factor from every session", async () => {
    const who = await enrolled();
    const mfa = identity.mfaAs(who.caller);
    const { mfaToken } = await login(who);
    const other = await verify(mfaToken, codeAt(who.secret));
    pass(60_000);
    expect(await codeOf(mfa.disableTotp({ password: "not it", code: codeAt(who.secret) }))).toBe("invalid_credentials");
    expect(await codeOf(mfa.disableTotp({ password, code: wrongCode(who.secret) }))).toBe("invalid_mfa_code");
    await mfa.disableTotp({ password, code: codeAt(who.secret) });
    for (const sessionId of [who.caller.sessionId, other.principal?.sessionId]) {
      const { principal } = await identity
        .anonymous()
        .resolveSession({ userId: who.userId, sessionId: sessionId ?? "" });
      expect([principal?.mfaEnabled, principal?.mfaAt]).toEqual([false, undefined]);
    }
    expect(await codeOf(mfa.disableTotp({ password, code: "123456" }))).toBe("mfa_not_enabled");
    expect((await login(who)).tokens).toBeDefined();
    expect(await actionsOf(who.userId)).toContain("user.mfa.disable success");
  });
});

describe("a reset by an administrator", () => {
  const reset = async ({ userId }: User) =>
    identity.usersAs(await identity.user(callers.platformAdmin())).resetUserFactors({ id: userId });
  const isSignedOut = async (caller: Caller) => (await codeOf(resolve(caller))) === "session_revoked";

  it("removes app, codes and pending sign-ins, ends every session, and is mailed to the user", async () => {
    const who = await enrolled();
    const { mfaToken } = await login(who);
    const removed = await reset(who);
    expect(removed).toMatchObject({ totp: true, passkeys: 0, ended: 1 });
    expect(await isSignedOut(who.caller)).toBe(true);
    expect(await codeOf(verify(mfaToken, codeAt(who.secret)))).toBe("invalid_mfa_token");
    const again = await signedIn(who);
    expect((await resolve(again)).principal?.mfaEnabled).toBe(false);
    expect(await identity.mfaAs(again).getFactors({})).toMatchObject({ totp: false, passkeys: 0, recoveryCodes: 0 });
    const row = (await identity.auditOf(who.userId)).find(({ action }) => action === "user.factors.reset");
    expect(JSON.parse(row?.detailsJson ?? "")).toEqual({ totp: true, passkeys: 0, ended: 1 });
    const mails = await identity.db.read(identity.system, sql`SELECT 1 FROM mail WHERE kind = 'factors_reset'`);
    expect(mails).toHaveLength(1);
  });

  it("is idempotent, and sends no mail where there was no factor", async () => {
    const who = await user();
    const mails = () => identity.db.read(identity.system, sql`SELECT 1 FROM mail WHERE kind = 'factors_reset'`);
    const before = await mails();
    for (const _time of [1, 2]) {
      expect(await reset(who)).toMatchObject({ totp: false, ended: 0 });
    }
    expect(await mails()).toHaveLength(before.length);
  });

  it("is refused to a caller who holds fewer permissions than the user", async () => {
    const who = await enrolled();
    const lesser = await identity.user(callers.platformAdmin(), ["users:read", "users:write"]);
    const by = identity.usersAs({ ...lesser, mfaAt: identity.clock.now });
    expect(await codeOf(by.resetUserFactors({ id: who.userId }))).toBe("delegation_denied");
    expect((await resolve(who.caller)).principal?.mfaEnabled).toBe(true);
  });

  it("is refused for the caller's own factors, which require the password", async () => {
    const { userId, caller } = await enrolled();
    const by = identity.usersAs({ ...caller, permissions: ["users:read", "users:write"], mfaAt: identity.clock.now });
    expect(await codeOf(by.resetUserFactors({ id: userId }))).toBe("delegation_denied");
    expect(await identity.mfaAs(caller).getFactors({})).toMatchObject({ totp: true });
  });

  it("returns no user outside the caller's tenant, even in the database", async () => {
    const who = await enrolled();
    const partnerId = await identity.addPartner();
    for (const caller of [callers.partnerAdmin(partnerId), { ...who.caller, scope: "organization" as const }]) {
      expect(await identity.db.read({ caller }, sql`SELECT * FROM reset_factors(${who.userId})`)).toEqual([]);
    }
    const codes = await identity.db.read({ caller: who.caller }, sql`SELECT 1 FROM recovery_codes`);
    expect(codes).toHaveLength(10);
  });
});

describe("new recovery codes", () => {
  it("replace the earlier ones, for a session that has completed a factor", async () => {
    const who = await enrolled();
    const mfa = identity.mfaAs({ ...who.caller, mfaAt: identity.clock.now });
    expect(await mfa.getFactors({})).toMatchObject({ totp: true, passkeys: 0, recoveryCodes: 10 });
    const { recoveryCodes } = await mfa.rotateRecoveryCodes({});
    expect(new Set([...recoveryCodes, ...who.recoveryCodes]).size).toBe(20);
    const [old = ""] = who.recoveryCodes;
    expect(await codeOf(verify((await login(who)).mfaToken, old))).toBe("invalid_mfa_code");
    expect(await codeOf(verify((await login(who)).mfaToken, recoveryCodes[0] ?? ""))).toBe("answered");
    expect((await mfa.getFactors({})).recoveryCodes).toBe(9);
    expect(await actionsOf(who.userId)).toContain("user.recovery_codes.rotate success");
  });

  it("are refused to a user without a factor, and to a session that has completed none", async () => {
    const who = await enrolled();
    expect(await codeOf(identity.mfaAs({ ...who.caller, mfaAt: null }).rotateRecoveryCodes({}))).toBe("mfa_required");
    const plain = await user();
    const mfa = identity.mfaAs({ ...(await signedIn(plain)), mfaAt: identity.clock.now });
    expect(await codeOf(mfa.rotateRecoveryCodes({}))).toBe("mfa_not_enabled");
  });
});

describe("failed passwords", () => {
  it("leave one audit row a minute about a known user, without a session", async () => {
    const who = await user();
    const guess = () => codeOf(identity.anonymous().login({ email: who.email, password: "wrong" }));
    const failures = async () =>
      (await identity.auditOf(who.userId)).filter((row) => row.action === "user.login.failed");
    expect(await Promise.all([1, 2, 3, 4, 5].map(guess))).toEqual(Array(5).fill("invalid_credentials"));
    await until("the first row", async () => (await failures()).length === 1);
    pass(60_000);
    await guess();
    const rows = await until("the second row", async () => {
      const found = await failures();
      return found.length === 2 ? found : null;
    });
    expect(rows[0]).toMatchObject({ actorId: who.userId, sessionId: "", result: "failure", ipAddress: "192.0.2.7" });
  });
});
