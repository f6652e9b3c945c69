import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { cleanSessions } from "../jobs/session-cleanup.ts";
import { readUserCode, shownUserCode } from "../rules/user-code.ts";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser, callerOf, signedIn, type User } from "../testing/users.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

let addresses = 0;
const someAddress = () => `198.51.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;
const client = (address = someAddress()) => identity.devicesAs(callers.service("gateway"), address);
const begin = (clientName = "laptop") => client().beginDeviceAuthorization({ clientName });
const complete = (deviceCode: string) => client().completeDeviceAuthorization({ deviceCode });
const pass = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};
const browser = async () => {
  const user = await activeUser(identity);
  const { caller } = await signedIn(identity, user);
  return { user, caller, devices: identity.devicesAs(caller, someAddress()) };
};
/** A sign-in that a new user has approved and no client has completed. */
const approved = async () => {
  const who = await browser();
  const { deviceCode, userCode } = await begin();
  await who.devices.approveDeviceAuthorization({ userCode });
  return { ...who, deviceCode, userCode };
};
const ended = async (deviceCode: string) => {
  expect(await codeOf(complete(deviceCode))).toBe("access_denied");
  expect(await codeOf(complete(deviceCode))).not.toBe("answered");
};
const administrator = () => identity.user(callers.platformAdmin());
const sessionsOf = async (caller: Parameters<TestIdentity["accountAs"]>[0]) =>
  (await identity.accountAs(caller).listSessions({})).sessions;

describe("a client's sign-in", () => {
  it("waits for the user, begins a session of the client's name, and returns its tokens once", async () => {
    const { user, caller, devices } = await browser();
    const started = await client("203.0.113.9").beginDeviceAuthorization({ clientName: "  muster on laptop " });
    expect(started).toMatchObject({ expiresInSeconds: 600, intervalSeconds: 5 });
    expect(started.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(started.deviceCode).toMatch(/^dev_[\w-]{43}$/);
    expect(await codeOf(complete(started.deviceCode))).toBe("authorization_pending");
    const typed = started.userCode.toLowerCase().replace("-", " ");
    expect(await devices.findDeviceAuthorization({ userCode: typed })).toMatchObject({
      clientName: "muster on laptop",
      ipAddress: "203.0.113.9",
    });
    await devices.approveDeviceAuthorization({ userCode: typed });
    pass(5_000);
    const { principal, tokens } = await complete(started.deviceCode);
    expect(principal).toMatchObject({ userId: user.userId, email: user.email });
    expect(tokens?.refreshToken).not.toBe("");
    expect(await codeOf(complete(started.deviceCode))).toBe("expired_token");
    const listed = (await sessionsOf(caller)).find(({ id }) => id === principal?.sessionId);
    expect(listed).toMatchObject({ device: "CLI: muster on laptop", clientName: "muster on laptop" });
    expect(await codeOf(identity.anonymous().refresh({ refreshToken: tokens?.refreshToken ?? "" }))).toBe("answered");
    const rows = await identity.auditBy(user.userId);
    const [approval] = rows.filter(({ action }) => action === "user.device.approve");
    expect(JSON.parse(approval?.detailsJson ?? "")).toEqual({
      clientName: "muster on laptop",
      ipAddress: "203.0.113.9",
    });
    const signIn = rows.filter(({ action }) => action === "user.login").at(-1);
    expect(JSON.parse(signIn?.detailsJson ?? "")).toEqual({ mfa: false, clientName: "muster on laptop" });
    await identity.accountAs(caller).revokeSession({ id: principal?.sessionId ?? "" });
    const [revoked] = (await identity.auditOf(principal?.sessionId ?? "")).filter(
      (row) => row.action === "session.revoke",
    );
    expect(revoked?.resourceName).toBe("CLI: muster on laptop");
    expect(await codeOf(identity.anonymous().refresh({ refreshToken: tokens?.refreshToken ?? "" }))).toBe(
      "invalid_refresh_token",
    );
  });

  it("stores neither of its codes", async () => {
    const { deviceCode, userCode } = await begin();
    const rows = await identity.db.read<{ row: string }>(
      identity.system,
      sql`SELECT to_jsonb(a)::text AS row FROM device_authorizations a`,
    );
    const stored = rows.map(({ row }) => row).join("\n");
    for (const secret of [deviceCode, userCode, readUserCode(userCode) ?? ""]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret).toString("hex"));
    }
  });

  it("is refused for good when the user says that it is not theirs", async () => {
    const { user, devices } = await browser();
    const { deviceCode, userCode } = await begin();
    await devices.denyDeviceAuthorization({ userCode });
    expect(await codeOf(complete(deviceCode))).toBe("access_denied");
    expect(await codeOf(devices.approveDeviceAuthorization({ userCode }))).toBe("invalid_user_code");
    expect((await identity.auditBy(user.userId)).map(({ action }) => action)).toContain("user.device.deny");
  });

  it("has to keep its interval, which grows with each early request", async () => {
    const { deviceCode } = await begin();
    expect(await codeOf(complete(deviceCode))).toBe("authorization_pending");
    pass(3_000);
    expect(await outcomeOf(complete(deviceCode))).toMatchObject({ code: "slow_down", intervalSeconds: 10 });
    pass(5_000);
    expect(await outcomeOf(complete(deviceCode))).toMatchObject({ code: "slow_down", intervalSeconds: 15 });
    pass(15_000);
    expect(await codeOf(complete(deviceCode))).toBe("authorization_pending");
  });

  it("ends after ten minutes, approved or not, and is removed an hour later", async () => {
    const { deviceCode, userCode, devices } = await approved();
    const other = await begin();
    pass(600_000);
    for (const code of [deviceCode, other.deviceCode]) expect(await codeOf(complete(code))).toBe("expired_token");
    expect(await codeOf(devices.findDeviceAuthorization({ userCode }))).toBe("invalid_user_code");
    pass(3_600_001);
    await cleanSessions({ db: identity.db, retentionDays: 30, now: () => identity.clock.now });
    const [left] = await identity.db.read<{ n: number }>(
      identity.system,
      sql`SELECT count(*)::int AS n FROM device_authorizations`,
    );
    expect(left?.n).toBe(0);
  });

  it.each([
    ["nothing", ""],
    ["white space", "  "],
    ["too much", "x".repeat(256)],
    ["a line break", "a\nb"],
    ["a turn of direction", "a\u202eb"],
  ])("is not started under a name of %s", async (_what, clientName) => {
    expect(await outcomeOf(begin(clientName))).toMatchObject({
      code: "validation_failed",
      details: { fieldErrors: { clientName: [expect.any(String)] } },
    });
  });

  it("is started a hundred times in five minutes from one address, no more", async () => {
    const address = someAddress();
    for (let i = 0; i < 100; i++) await client(address).beginDeviceAuthorization({ clientName: "c" });
    expect(await outcomeOf(client(address).beginDeviceAuthorization({ clientName: "c" }))).toMatchObject({
      code: "rate_limited",
      retryAfterSeconds: 300,
    });
    expect(await codeOf(begin())).toBe("answered");
  });
});

describe("a user code", () => {
  it("gets one answer if wrong, malformed, used or expired, and ten of them close the address", async () => {
    const { caller } = await browser();
    const address = someAddress();
    const devices = identity.devicesAs(caller, address);
    const used = await approved();
    const wrong = ["BBBB-BBBB", "A", "", used.userCode];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_each, i) =>
        outcomeOf(devices.findDeviceAuthorization({ userCode: wrong[i % wrong.length] ?? "" })),
      ),
    );
    const refused = answers.filter(({ code }) => code === "invalid_user_code");
    expect(refused).toHaveLength(10);
    for (const answer of refused) expect(answer).toEqual({ code: "invalid_user_code" });
    expect(answers.filter(({ code }) => code === "rate_limited")).toHaveLength(20);
    const { userCode } = await begin();
    // Awaited together: one that is refused early has somebody who waits for it.
    const calls = [
      devices.findDeviceAuthorization({ userCode }),
      devices.approveDeviceAuthorization({ userCode }),
      devices.denyDeviceAuthorization({ userCode }),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "rate_limited"));
    expect(await codeOf(identity.devicesAs(caller, someAddress()).findDeviceAuthorization({ userCode }))).toBe(
      "answered",
    );
    pass(300_001);
    expect(await codeOf(devices.findDeviceAuthorization({ userCode }))).toBe("answered");
  });

  it("is approved once, of any number of users who enter it together", async () => {
    const { userCode } = await begin();
    const users = await Promise.all([browser(), browser(), browser()]);
    const codes = await Promise.all(
      users.map(({ devices }) => codeOf(devices.approveDeviceAuthorization({ userCode }))),
    );
    expect(codes.sort()).toEqual(["answered", "invalid_user_code", "invalid_user_code"]);
  });

  it("does not approve without a second factor of the last five minutes where the account has one", async () => {
    const { user, caller } = await browser();
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET mfa_enabled = true WHERE id = ${user.userId}`),
    );
    const { deviceCode, userCode } = await begin();
    const approveAt = (mfaAt: Date | null) =>
      codeOf(
        identity
          .devicesAs(callerOf(user, caller.sessionId ?? "", mfaAt), someAddress())
          .approveDeviceAuthorization({ userCode }),
      );
    expect(await approveAt(null)).toBe("mfa_required");
    expect(await approveAt(new Date(identity.clock.now.getTime() - 300_001))).toBe("mfa_required");
    const provenAt = new Date(identity.clock.now.getTime() - 60_000);
    expect(await approveAt(provenAt)).toBe("answered");
    const { principal } = await complete(deviceCode);
    expect(Number(principal?.mfaAt?.seconds)).toBe(Math.floor(provenAt.getTime() / 1_000));
  });

  it("is for people: a service, a key and a session that has ended approve nothing", async () => {
    const { userCode } = await begin();
    const { user, caller, devices } = await browser();
    await identity.sessionsAs(caller).logout({});
    expect(await codeOf(devices.approveDeviceAuthorization({ userCode }))).toBe("session_revoked");
    const key = callers.orgAdmin(user.partnerId, user.orgId, { actor: { type: "api_key", id: uuidv7() } });
    expect(await codeOf(identity.devicesAs(key).approveDeviceAuthorization({ userCode }))).toBe(
      "user_session_required",
    );
    const { devices: others } = await browser();
    expect(await codeOf(others.approveDeviceAuthorization({ userCode }))).toBe("answered");
  });
});

describe("an approval that no client has completed ends", () => {
  it("with the sign-out of the session that gave it, and with no other", async () => {
    const { user, caller, deviceCode } = await approved();
    const second = await signedIn(identity, user);
    await identity.sessionsAs(second.caller).logout({});
    const { userCode, deviceCode: kept } = await begin();
    await identity.devicesAs(caller, someAddress()).approveDeviceAuthorization({ userCode });
    expect(await codeOf(complete(kept))).toBe("answered");
    await identity.sessionsAs(caller).logout({});
    await ended(deviceCode);
  });

  it.each<[string, (of: { user: User; caller: Parameters<TestIdentity["accountAs"]>[0] }) => Promise<unknown>]>([
    [
      "the end of that session",
      ({ caller }) => identity.accountAs(caller).revokeSession({ id: caller.sessionId ?? "" }),
    ],
    [
      "the sign-out of all other sessions",
      async ({ user }) => identity.accountAs((await signedIn(identity, user)).caller).revokeOtherSessions({}),
    ],
    [
      "the user's disabling",
      async ({ user }) => identity.usersAs(await administrator()).disableUser({ id: user.userId }),
    ],
    [
      "the end of all their sessions by an administrator",
      async ({ user }) => identity.usersAs(await administrator()).endUserSessions({ id: user.userId }),
    ],
    [
      "the deletion of their organization",
      ({ user }) => identity.setStatus("organization", user.orgId, "active", true),
    ],
    [
      "the user's disabling and enabling",
      async ({ user }) => {
        await identity.usersAs(await administrator()).disableUser({ id: user.userId });
        await identity.usersAs(await administrator()).enableUser({ id: user.userId });
      },
    ],
  ])("with %s", async (_what, end) => {
    const { user, caller, deviceCode } = await approved();
    await end({ user, caller });
    await ended(deviceCode);
  });

  it("with a disabling at the same moment, or its session ends with it", async () => {
    for (let round = 0; round < 15; round++) {
      const { user, deviceCode } = await approved();
      const admin = identity.usersAs(await administrator());
      const [completed] = await Promise.all([
        complete(deviceCode).catch(() => null),
        admin.disableUser({ id: user.userId }),
      ]);
      const alive = await identity.db.read(
        identity.system,
        sql`SELECT id FROM sessions WHERE user_id = ${user.userId} AND revoked_at IS NULL`,
      );
      expect(alive).toEqual([]);
      const refreshToken = completed?.tokens?.refreshToken;
      if (refreshToken) expect(await codeOf(identity.anonymous().refresh({ refreshToken }))).not.toBe("answered");
    }
  });
});

it("a shown code is the stored one with a hyphen", () => {
  expect(shownUserCode("WDJBMJHT")).toBe("WDJB-MJHT");
});
