import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser, signedIn } from "../testing/users.ts";
import { cleanSessions } from "./session-cleanup.ts";

const dayMs = 86_400_000;
let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

const pass = (days: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + days * dayMs);
};
const clean = () => cleanSessions({ db: identity.db, retentionDays: 7, now: () => identity.clock.now });
const idsOf = async (userId: string) => {
  const rows = await identity.db.read<{ id: string }>(
    identity.system,
    sql`SELECT id FROM sessions WHERE user_id = ${userId} ORDER BY created_at`,
  );
  return rows.map(({ id }) => id);
};

describe("ended sessions", () => {
  it("are kept for the configured days and then removed; active ones stay, and reuse of an old token is still detected", async () => {
    const who = await activeUser(identity);
    const [revoked, active] = [await signedIn(identity, who), await signedIn(identity, who)];
    await identity.sessionsAs(revoked.caller).logout({});
    expect(await clean()).toBe(0);
    pass(6);
    const first = await identity.anonymous().refresh({ refreshToken: active.refreshToken });
    expect(await clean()).toBe(0);
    pass(1.1);
    expect(await clean()).toBe(1);
    expect(await idsOf(who.userId)).toEqual([active.caller.sessionId]);
    // An old token of the remaining family is presented again.
    await identity.anonymous().refresh({ refreshToken: first.tokens?.refreshToken ?? "" });
    pass(0.01);
    expect(await codeOf(identity.anonymous().refresh({ refreshToken: active.refreshToken }))).toBe(
      "invalid_refresh_token",
    );
    const revocations = (await identity.auditOf(active.caller.sessionId ?? "")).filter(
      ({ action }) => action === "session.revoke",
    );
    expect(revocations).toHaveLength(1);
  });

  it("are removed, once expired, after their longest lifetime and those days, and refused like any other", async () => {
    const who = await activeUser(identity);
    const { caller, refreshToken } = await signedIn(identity, who);
    pass(36.9);
    await clean();
    expect(await idsOf(who.userId)).toEqual([caller.sessionId]);
    pass(0.2);
    await clean();
    expect(await idsOf(who.userId)).toEqual([]);
    expect(await codeOf(identity.anonymous().refresh({ refreshToken }))).toBe("invalid_refresh_token");
    const ids = { sessionId: caller.sessionId ?? "", userId: who.userId };
    expect(await codeOf(identity.anonymous().resolveSession(ids))).toBe("session_revoked");
  });

  it("are removed once, however many replicas run the clean-up", async () => {
    const who = await activeUser(identity);
    for (let i = 0; i < 20; i++) await identity.sessionsAs((await signedIn(identity, who)).caller).logout({});
    pass(7.1);
    const rows = await Promise.all([clean(), clean(), clean()]);
    expect(rows.reduce((sum, each) => sum + each)).toBe(20);
    expect(await idsOf(who.userId)).toEqual([]);
  });
});
