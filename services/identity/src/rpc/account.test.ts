import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { callers } from "@muster/testing";
import { mailDelivery } from "../clients/mail-delivery.ts";
import { type SendMailDeps, sendDueMail } from "../jobs/send-mail.ts";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { startSmtp } from "../testing/smtp.ts";
import { activeUser, password, signedIn, type User } from "../testing/users.ts";

const newPassword = "another long password";
let identity: TestIdentity;
let smtp: Awaited<ReturnType<typeof startSmtp>>;
let posting: SendMailDeps;
beforeAll(async () => {
  identity = await startTestIdentity();
  smtp = await startSmtp();
  const log = createLogger("identity-test", "fatal");
  const settings = { NODE_ENV: "production", SMTP_URL: smtp.url };
  posting = { ...identity.posting, delivery: mailDelivery(settings, identity.publicUrl, log), log };
});
afterAll(async () => {
  posting?.delivery?.close();
  await smtp?.close();
  await identity?.close();
});

const pass = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};
let addresses = 0;
/** Each uses its own client address. */
const anonymous = () => identity.accountAs(callers.service("gateway"), `198.51.100.${++addresses}`);
const forgot = (email: string) => anonymous().forgotPassword({ email });
const login = (who: User, secret: string) => codeOf(identity.anonymous().login({ email: who.email, password: secret }));
const eventsOf = async (who: User) => {
  const rows = await identity.db.read<{ body: Buffer }>(
    identity.system,
    sql`SELECT body FROM outbox WHERE subject LIKE ${`events.identity.${who.orgId}.%`} ORDER BY id`,
  );
  return rows.map(({ body }) => fromBinary(PlatformEventSchema, body));
};
const mailRows = () =>
  identity.db.read<{ kind: string; state: string; attempts: number; sealed: Buffer | null; last_error: string | null }>(
    identity.system,
    sql`SELECT kind, state, attempts, sealed, last_error FROM mail ORDER BY created_at, id`,
  );

/** The token of the link in a user's mail. */
async function linkOf(who: User): Promise<string> {
  await forgot(who.email);
  await sendDueMail(posting);
  const tokens = smtp.to(who.email).map((mail) => mail.token);
  // An invitation may arrive later than a link that was asked for after it.
  const token = tokens.findLast((each) => each.startsWith("pwr_")) ?? "";
  expect(token).toMatch(/^pwr_[\w-]{43}$/);
  return token;
}

describe("an invitation", () => {
  it("is sent by mail, with a link that works once", async () => {
    const who = await activeUser(identity);
    await sendDueMail(posting);
    const [mail] = smtp.to(who.email);
    expect(mail?.from).toBe("muster@muster.example.test");
    expect(mail?.raw).toContain("Subject: You are invited to Muster");
    expect(mail?.link).toMatch(/^https:\/\/muster\.example\.test\/accept-invite#token=inv_[\w-]{43}$/);
    const accept = identity.usersAs(callers.service("gateway")).acceptInvite({ token: mail?.token ?? "", password });
    // It was accepted when the user was made.
    expect(await codeOf(accept)).toBe("invalid_token");
  });
});

describe("a user's own name", () => {
  it("is changed at once in every session, and audited as an update by its user", async () => {
    const who = await activeUser(identity);
    const { caller } = await signedIn(identity, who);
    const account = identity.accountAs(caller);
    expect(await account.updateOwnName({ name: "  Ada King " })).toMatchObject({ name: "Ada King" });
    const sessionId = caller.sessionId ?? "";
    const { principal } = await identity.anonymous().resolveSession({ userId: caller.actor.id, sessionId });
    expect(principal?.name).toBe("Ada King");
    const row = (await identity.auditOf(caller.actor.id)).at(-1);
    expect([row?.action, row?.actorId]).toEqual(["user.update", caller.actor.id]);
    expect(JSON.parse(row?.detailsJson ?? "").changes.after).toEqual({ name: "Ada King" });
    for (const name of ["", " ", "Ada\r\nKing", "x".repeat(256)]) {
      expect(await codeOf(account.updateOwnName({ name }))).toBe("validation_failed");
    }
  });
});

describe("a forgotten password", () => {
  it("is replaced by the link of a mail, once, and ends every session", async () => {
    const who = await activeUser(identity);
    const { caller, refreshToken } = await signedIn(identity, who);
    const token = await linkOf(who);
    await anonymous().resetPassword({ token, password: newPassword });
    expect(await codeOf(anonymous().resetPassword({ token, password: newPassword }))).toBe("invalid_token");
    expect(await codeOf(identity.anonymous().refresh({ refreshToken }))).toBe("invalid_refresh_token");
    const ids = { userId: who.userId, sessionId: caller.sessionId ?? "" };
    expect(await codeOf(identity.anonymous().resolveSession(ids))).toBe("session_revoked");
    expect([await login(who, password), await login(who, newPassword)]).toEqual(["invalid_credentials", "answered"]);
    await sendDueMail(posting);
    expect(smtp.to(who.email).at(-1)?.raw).toContain("Subject: Your Muster password was changed");
    const actions = (await identity.auditOf(who.userId)).map(({ action }) => action);
    expect(actions.filter((action) => action === "user.password.reset")).toHaveLength(1);
    const ended = (await eventsOf(who)).filter(({ type }) => type === "session.logout");
    expect(ended.map(({ dataJson }) => JSON.parse(dataJson))).toEqual([{ ...ids, reason: "password_reset" }]);
  });

  it("has links that expire after an hour, with a newer password, and with each other's use", async () => {
    const who = await activeUser(identity);
    const [first, second] = [await linkOf(who), await linkOf(who)];
    for (const bad of ["short", "Password1234", who.email]) {
      expect(await codeOf(anonymous().resetPassword({ token: first, password: bad }))).toBe("validation_failed");
    }
    await anonymous().resetPassword({ token: second, password: newPassword });
    expect(await codeOf(anonymous().resetPassword({ token: first, password }))).toBe("invalid_token");
    const third = await linkOf(who);
    pass(3_601_000);
    expect(await codeOf(anonymous().resetPassword({ token: third, password }))).toBe("invalid_token");
    expect(await codeOf(anonymous().resetPassword({ token: "pwr_nonsense", password }))).toBe("invalid_token");
  });

  it("and an invitation are limited to a number of unknown tokens a minute from one address", async () => {
    const from = (address: string) => identity.accountAs(callers.service("gateway"), address);
    const guess = (address: string) => outcomeOf(from(address).resetPassword({ token: "pwr_nothing", password }));
    const accept = (address: string) =>
      outcomeOf(identity.usersAs(callers.service("gateway"), address).acceptInvite({ token: "inv_nothing", password }));
    const refresh = (address: string) => outcomeOf(identity.anonymous(address).refresh({ refreshToken: "nothing" }));
    const here = "203.0.113.77";
    const codes: string[] = [];
    for (let i = 0; i < 10; i++) {
      for (const each of [guess, accept, refresh]) codes.push((await each(here)).code);
    }
    expect(new Set(codes)).toEqual(new Set(["invalid_token", "invalid_refresh_token"]));
    for (const each of [guess, accept, refresh]) {
      expect(await each(here)).toMatchObject({ code: "rate_limited", retryAfterSeconds: 60 });
      expect((await each("203.0.113.78")).code).not.toBe("rate_limited");
    }
    // Another client's guesses do not affect the holder of a token.
    const who = await activeUser(identity);
    const token = await linkOf(who);
    expect(await codeOf(from(here).resetPassword({ token, password: newPassword }))).toBe("answered");
  });

  it("is replaced once although twenty requests use the link together", async () => {
    const who = await activeUser(identity);
    const token = await linkOf(who);
    const tries = Array.from({ length: 20 }, () => codeOf(anonymous().resetPassword({ token, password: newPassword })));
    expect((await Promise.all(tries)).filter((code) => code === "answered")).toHaveLength(1);
  });

  it("ends a sign-in that waits for its second factor", async () => {
    const who = await activeUser(identity);
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET mfa_enabled = true WHERE id = ${who.userId}`),
    );
    const { mfaToken } = await identity.anonymous().login({ email: who.email, password });
    await anonymous().resetPassword({ token: await linkOf(who), password: newPassword });
    const mfa = identity.mfaAs(callers.service("gateway"));
    expect(await codeOf(mfa.verifyMfa({ mfaToken, code: "000000" }))).toBe("invalid_mfa_token");
  });

  it("has the same reply for every account, and mails only active accounts", async () => {
    const [active, disabled] = [await activeUser(identity), await activeUser(identity)];
    const invited = `${uuidv7()}@example.com`;
    const root = identity.usersAs(await identity.user(callers.platformAdmin()));
    await root.inviteUser({ email: invited, name: "I", roleId: identity.roleId("org-viewer"), orgId: active.orgId });
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET status = 'disabled' WHERE id = ${disabled.userId}`),
    );
    await sendDueMail(posting);
    const before = smtp.received.length;
    for (const email of [active.email, disabled.email, invited, "nobody@example.com"]) {
      expect(await codeOf(forgot(email))).toBe("answered");
    }
    const requests = (await mailRows()).filter(({ kind }) => kind === "password_reset_request");
    expect(requests.map(({ state }) => state)).toEqual(Array(4).fill("waiting"));
    await sendDueMail(posting);
    expect(smtp.received.slice(before).map(({ to }) => to)).toEqual([active.email]);
  });

  it("sends no mail to users of a tenant that has ended, and accepts no earlier link of theirs", async () => {
    const [churned, deleted, suspended] = [
      await activeUser(identity),
      await activeUser(identity),
      await activeUser(identity),
    ];
    const everybody = [churned, deleted, suspended];
    const links: string[] = [];
    for (const who of everybody) links.push(await linkOf(who));
    await identity.setStatus("organization", churned.orgId, "churned");
    await identity.setStatus("partner", deleted.partnerId, "active", true);
    await identity.setStatus("organization", suspended.orgId, "suspended");
    const before = smtp.received.length;
    for (const { email } of everybody) expect(await codeOf(forgot(email))).toBe("answered");
    await sendDueMail(posting);
    expect(smtp.received.slice(before).map(({ to }) => to)).toEqual([suspended.email]);
    const codes: string[] = [];
    for (const token of links) codes.push(await codeOf(anonymous().resetPassword({ token, password: newPassword })));
    expect(codes).toEqual(["invalid_token", "invalid_token", "answered"]);
  });

  it("is mailed three times an hour, whatever the case of the e-mail, with the same reply beyond the limit", async () => {
    const who = await activeUser(identity);
    await sendDueMail(posting);
    const count = () => smtp.to(who.email).length;
    const before = count();
    const spellings = [who.email, who.email.toUpperCase(), who.email, who.email, who.email.toUpperCase()];
    for (const email of spellings) expect(await codeOf(forgot(email))).toBe("answered");
    await sendDueMail(posting);
    expect(count() - before).toBe(3);
    pass(3_601_000);
    await forgot(who.email);
    await sendDueMail(posting);
    expect(count() - before).toBe(4);
  });

  it("requested repeatedly from one address is refused at its limit, for whichever account", async () => {
    const one = identity.accountAs(callers.service("gateway"), "192.0.2.200");
    for (let i = 0; i < 20; i++) await one.forgotPassword({ email: `${uuidv7()}@example.com` });
    const refused = await outcomeOf(one.forgotPassword({ email: "nobody@example.com" }));
    expect(refused).toMatchObject({ code: "rate_limited", retryAfterSeconds: 3_600 });
  });
});

describe("a change of one's own password", () => {
  it("needs the current one, and ends the other sessions", async () => {
    const who = await activeUser(identity);
    const [mine, other] = [await signedIn(identity, who), await signedIn(identity, who)];
    const account = identity.accountAs(mine.caller);
    const change = (currentPassword: string, wanted: string) =>
      codeOf(account.changePassword({ currentPassword, newPassword: wanted }));
    expect(await change("not it", newPassword)).toBe("invalid_credentials");
    expect(await change(password, "short")).toBe("validation_failed");
    expect(
      await outcomeOf(account.changePassword({ currentPassword: password, newPassword: "Passw0rd-2026" })),
    ).toEqual({
      code: "validation_failed",
      details: { formErrors: [], fieldErrors: { newPassword: [expect.stringContaining("Too easy to guess")] } },
    });
    expect(await change(password, password)).toBe("validation_failed");
    expect(await change(password, newPassword)).toBe("answered");
    expect(await codeOf(identity.anonymous().refresh({ refreshToken: other.refreshToken }))).toBe(
      "invalid_refresh_token",
    );
    expect(await codeOf(identity.anonymous().refresh({ refreshToken: mine.refreshToken }))).toBe("answered");
    expect([await login(who, password), await login(who, newPassword)]).toEqual(["invalid_credentials", "answered"]);
    for (let i = 0; i < 5; i++) await change("not it", password);
    expect(await change(newPassword, password)).toBe("rate_limited");
  });

  it("leaves no session of a concurrent sign-in by the old password", async () => {
    for (let round = 0; round < 5; round++) {
      const who = await activeUser(identity);
      const { caller } = await signedIn(identity, who);
      const logins = Array.from({ length: 6 }, () => login(who, password));
      await identity.accountAs(caller).changePassword({ currentPassword: password, newPassword });
      await Promise.all(logins);
      const { sessions } = await identity.accountAs(caller).listSessions({});
      expect(sessions.map(({ id }) => id)).toEqual([caller.sessionId]);
    }
  });
});

describe("a user's own sessions", () => {
  it("are listed newest first with device and address, in pages, without other users' sessions", async () => {
    const who = await activeUser(identity);
    await signedIn(identity, await activeUser(identity));
    const sessions = [];
    for (let i = 0; i < 3; i++) {
      sessions.unshift(await signedIn(identity, who));
      pass(1_000);
    }
    const [last, middle, first] = sessions.map(({ caller }) => caller);
    const account = identity.accountAs(middle as NonNullable<typeof middle>);
    const page = await account.listSessions({ page: { page: 1, limit: 2 } });
    expect(page.sessions.map(({ id, current }) => [id, current])).toEqual([
      [last?.sessionId, false],
      [middle?.sessionId, true],
    ]);
    expect(page.page).toMatchObject({ total: 3n });
    expect(page.sessions[0]).toMatchObject({ ipAddress: "192.0.2.7", device: expect.any(String) });
    const rest = await account.listSessions({ page: { limit: 2, cursor: page.page?.nextCursor ?? "" } });
    expect(rest.sessions.map(({ id }) => id)).toEqual([first?.sessionId]);
    expect(await codeOf(account.listSessions({ page: { cursor: "zz" } }))).toBe("validation_failed");
  });

  it("end singly or all except the current one, with an audit row and an event of each", async () => {
    const who = await activeUser(identity);
    const [mine, one, two, three] = await Promise.all([1, 2, 3, 4].map(() => signedIn(identity, who)));
    const account = identity.accountAs((mine as NonNullable<typeof mine>).caller);
    const id = one?.caller.sessionId ?? "";
    await account.revokeSession({ id });
    expect(await codeOf(account.revokeSession({ id }))).toBe("answered");
    const foreign = await signedIn(identity, await activeUser(identity));
    for (const missing of [foreign.caller.sessionId ?? "", uuidv7(), "x"]) {
      expect(await codeOf(account.revokeSession({ id: missing }))).toBe("session_not_found");
    }
    expect((await account.revokeOtherSessions({})).revoked).toBe(2);
    const ids = [id, two?.caller.sessionId, three?.caller.sessionId].sort();
    const ended = (await eventsOf(who)).filter(({ type }) => type === "session.logout");
    expect(ended.map(({ dataJson }) => JSON.parse(dataJson).sessionId).sort()).toEqual(ids);
    const rows = (await Promise.all(ids.map((sessionId) => identity.auditOf(sessionId ?? "")))).flat();
    expect(rows.map(({ action, resourceType, actorId }) => [action, resourceType, actorId])).toEqual(
      Array(3).fill(["session.revoke", "session", who.userId]),
    );
  });
});

describe("events for webhooks", () => {
  it("report sign-in and sign-out with documented data, and no secret", async () => {
    const who = await activeUser(identity);
    const { caller } = await signedIn(identity, who);
    await identity.sessionsAs(caller).logout({});
    const events = await eventsOf(who);
    const { userId, email } = who;
    const { sessionId } = caller;
    const named = { userId, email, name: "Ada Lovelace", sessionId };
    const data = Object.fromEntries(events.map(({ type, dataJson }) => [type, JSON.parse(dataJson)]));
    expect(events.map(({ type }) => type)).toEqual(["user.login", "session.login", "session.logout", "user.logout"]);
    expect(data["user.login"]).toMatchObject({ ...named, mfa: false, ipAddress: "192.0.2.7" });
    expect(data["session.login"]).toMatchObject({ sessionId, userId, mfa: false, expiresAt: expect.any(String) });
    expect(data["session.logout"]).toEqual({ sessionId, userId, reason: "logout" });
    expect(data["user.logout"]).toMatchObject(named);
    for (const { orgId, partnerId } of events) expect([orgId, partnerId]).toEqual([who.orgId, who.partnerId]);
  });

  it("are not emitted for users of partners, who belong to no organization", async () => {
    const partnerId = await identity.addPartner();
    const email = `${uuidv7()}@example.com`;
    const root = identity.usersAs(await identity.user(callers.platformAdmin()));
    const wanted = { email, name: "P", roleId: identity.roleId("partner-technician"), partnerId };
    const { inviteToken } = await root.inviteUser(wanted);
    await identity.usersAs(callers.service("gateway")).acceptInvite({ token: inviteToken, password });
    const { principal } = await identity.anonymous().login({ email, password });
    const rows = await identity.db.read<{ body: Buffer }>(
      identity.system,
      sql`SELECT body FROM outbox WHERE subject LIKE 'events.%'`,
    );
    expect(principal?.scope).toBe("partner");
    expect(rows.filter(({ body }) => body.toString("latin1").includes(principal?.userId ?? "?"))).toEqual([]);
  });
});

describe("mail", () => {
  it("is retried with backoff while the server is unavailable, and dropped after ten attempts", async () => {
    pass(1_000);
    const who = await activeUser(identity);
    smtp.refuse(451);
    await sendDueMail(posting);
    const state = async () => (await mailRows()).at(-1);
    expect(await state()).toMatchObject({ kind: "invite", state: "waiting", attempts: 1 });
    await sendDueMail(posting);
    expect((await state())?.attempts).toBe(1);
    for (const seconds of [5, 10, 20]) {
      pass(seconds * 1_000);
      await sendDueMail(posting);
    }
    expect(await state()).toMatchObject({
      state: "waiting",
      attempts: 4,
      last_error: expect.stringContaining("refused"),
    });
    for (let i = 4; i < 10; i++) {
      pass(3_600_000);
      await sendDueMail(posting);
    }
    expect(await state()).toMatchObject({ state: "poison", attempts: 10, sealed: expect.any(Uint8Array) });
    smtp.refuse(null);
    pass(3_600_000);
    await sendDueMail(posting);
    expect(smtp.to(who.email)).toEqual([]);
  });

  it("is dropped at once when rejected permanently", async () => {
    pass(1_000);
    await activeUser(identity);
    smtp.refuse(550);
    await sendDueMail(posting);
    smtp.refuse(null);
    expect((await mailRows()).at(-1)).toMatchObject({ state: "poison", attempts: 1 });
  });

  it("is sent once by two concurrent replicas", async () => {
    const users = await Promise.all(Array.from({ length: 12 }, () => activeUser(identity)));
    await Promise.all([sendDueMail(posting), sendDueMail(posting), sendDueMail(posting)]);
    expect(users.map(({ email }) => smtp.to(email).length)).toEqual(users.map(() => 1));
  });

  it("is nowhere stored in clear, and is removed once sent", async () => {
    pass(1_000);
    const who = await activeUser(identity);
    const [row] = (await mailRows()).slice(-1);
    expect(row?.sealed?.toString("latin1")).not.toMatch(new RegExp(`${who.email}|inv_|token`));
    await sendDueMail(posting);
    expect((await mailRows()).filter(({ state, sealed }) => state === "sent" && sealed !== null)).toEqual([]);
  });
});
