import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { UserChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { callers } from "@muster/testing";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
let rootCaller: Caller;
let partnerId: string;
let orgId: string;
beforeAll(async () => {
  identity = await startTestIdentity();
  rootCaller = await identity.user(callers.platformAdmin());
  partnerId = await identity.addPartner();
  orgId = await identity.addOrganization(partnerId);
});
afterAll(() => identity?.close());

const password = "a long enough password";
const users = () => identity.usersAs({ ...rootCaller, mfaAt: identity.clock.now });

async function invited(role: string, change: object = {}) {
  const email = `${uuidv7()}@example.com`;
  const wanted = { email, name: "Ada", roleId: identity.roleId(role), ...change };
  const { user, inviteToken } = await users().inviteUser(wanted);
  return { id: user?.id ?? "", email, inviteToken };
}
const accept = (token: string) => identity.usersAs(callers.service("gateway")).acceptInvite({ token, password });
async function active(role: string, change: object = {}) {
  const user = await invited(role, change);
  await accept(user.inviteToken);
  return user;
}
const login = (email: string) => identity.anonymous().login({ email, password });
const update = (id: string, paths: string[], user: object) => users().updateUser({ id, updateMask: { paths }, user });
const events = async (id: string) => {
  const rows = await identity.db.read<{ body: Buffer }>(
    identity.system,
    sql`SELECT body FROM outbox WHERE subject = 'auth.user' ORDER BY id`,
  );
  return rows
    .map((row) => fromBinary(UserChangedSchema, row.body))
    .filter((event) => event.userId === id)
    .map((event) => event.userVersion);
};
const actionsOf = async (id: string) => (await identity.auditOf(id)).map((row) => row.action);

describe("changing a user", () => {
  it("shows the new name everywhere, and audits it as an update", async () => {
    const { id } = await active("org-viewer", { orgId });
    expect((await update(id, ["name"], { name: "Eve" })).user).toMatchObject({ name: "Eve", role: "org-viewer" });
    expect((await users().getUser({ id })).user?.name).toBe("Eve");
    const row = (await identity.auditOf(id)).at(-1);
    expect([row?.action, row?.orgId]).toEqual(["user.update", orgId]);
    expect(JSON.parse(row?.detailsJson ?? "")).toEqual({
      changedFields: ["name"],
      changes: { before: { name: "Ada" }, after: { name: "Eve" } },
    });
  });

  it("audits a role and grants as permissions, with before and after, and notifies the gateways", async () => {
    const [other, siteId] = [await identity.addOrganization(partnerId), await identity.addSite(partnerId, orgId)];
    const { id } = await active("partner-technician", { partnerId, orgIds: [orgId] });
    const before = await events(id);
    const change = {
      roleId: identity.roleId("partner-admin"),
      orgIds: [orgId, other],
      siteRestricted: true,
      siteIds: [siteId],
    };
    const { user } = await update(id, ["role_id", "org_ids", "site_ids"], change);
    const orgIds = [orgId, other].sort();
    expect(user).toMatchObject({
      role: "partner-admin",
      orgAccess: "selected",
      orgIds,
      siteRestricted: true,
      siteIds: [siteId],
    });
    const row = (await identity.auditOf(id)).at(-1);
    expect(row?.action).toBe("user.permission.change");
    expect(JSON.parse(row?.detailsJson ?? "").changes).toEqual({
      before: {
        roleId: identity.roleId("partner-technician"),
        role: "partner-technician",
        orgIds: [orgId],
        siteIds: null,
      },
      after: { roleId: identity.roleId("partner-admin"), role: "partner-admin", orgIds, siteIds: [siteId] },
    });
    expect(await events(id)).toHaveLength(before.length + 1);
    expect((await update(id, ["site_ids"], { siteRestricted: false })).user).toMatchObject({
      siteRestricted: false,
      siteIds: [],
    });
    expect((await update(id, ["org_access"], { orgAccess: "none" })).user).toMatchObject({
      orgAccess: "none",
      orgIds: [],
    });
  });

  it("leaves one row each for a name and a role that change together", async () => {
    const { id } = await invited("org-viewer", { orgId });
    await update(id, ["name", "role_id"], { name: "Eve", roleId: identity.roleId("org-admin") });
    expect(await actionsOf(id)).toEqual(["user.create", "user.permission.change", "user.update"]);
  });

  it("refuses a tenant that is missing, deleted or another partner's, and an unknown field", async () => {
    const { id } = await active("partner-technician", { partnerId });
    const foreign = await identity.addOrganization(await identity.addPartner());
    const gone = await identity.addOrganization(partnerId);
    await identity.setStatus("organization", gone, "active", true);
    const foreignSite = await identity.addSite(partnerId, foreign);
    const tries: [string[], object, string][] = [
      [["org_ids"], { orgIds: [uuidv7()] }, "organization_not_found"],
      [["org_ids"], { orgIds: [foreign] }, "organization_not_found"],
      [["org_ids"], { orgIds: [gone] }, "organization_not_found"],
      [["site_ids"], { siteRestricted: true, siteIds: [foreignSite] }, "site_not_found"],
      [["site_ids"], { siteRestricted: true, siteIds: [uuidv7()] }, "site_not_found"],
      [["role_id"], { roleId: uuidv7() }, "role_not_found"],
      [["role_id"], { roleId: identity.roleId("org-viewer") }, "validation_failed"],
      [["name"], { name: "Ada\r\nLovelace" }, "validation_failed"],
      [["email"], { email: "x@example.com" }, "no_updates"],
      [[], {}, "no_updates"],
    ];
    const rows = await identity.auditOf(id);
    for (const [paths, user, code] of tries) {
      expect([user, await codeOf(update(id, paths, user))]).toEqual([user, code]);
    }
    expect(await identity.auditOf(id)).toHaveLength(rows.length);
    expect(await codeOf(update(uuidv7(), ["name"], { name: "E" }))).toBe("user_not_found");
  });

  it("is possible for users of a deleted organization, whose partner cleans up", async () => {
    const org = await identity.addOrganization(partnerId);
    const { id } = await active("org-viewer", { orgId: org });
    await identity.setStatus("organization", org, "active", true);
    const by = identity.usersAs(await identity.user(callers.partnerAdmin(partnerId)));
    expect(await codeOf(by.updateUser({ id, updateMask: { paths: ["name"] }, user: { name: "E" } }))).toBe("answered");
    expect(await codeOf(by.disableUser({ id }))).toBe("answered");
    expect(await codeOf(by.deleteUser({ id }))).toBe("answered");
  });

  it("is refused to callers without access to the user, without a second factor or limited to sites", async () => {
    const { id } = await active("org-viewer", { orgId });
    const otherAdmin = await identity.user(callers.orgAdmin(partnerId, await identity.addOrganization(partnerId)));
    const own = await identity.user(callers.orgAdmin(partnerId, orgId));
    const limited = { ...own, siteIds: [uuidv7()] };
    for (const [by, code] of [
      [otherAdmin, "user_not_found"],
      [{ ...own, mfaAt: null }, "mfa_required"],
      [{ ...own, permissions: ["users:read"] }, "permission_denied"],
      [limited, "site_restricted"],
    ] as const) {
      const as = identity.usersAs(by);
      const calls = [
        as.updateUser({ id, updateMask: { paths: ["name"] }, user: { name: "E" } }),
        as.disableUser({ id }),
        as.enableUser({ id }),
        as.endUserSessions({ id }),
        as.resetUserFactors({ id }),
        as.resendInvite({ id }),
        as.deleteUser({ id }),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => code));
    }
  });
});

describe("disabling a user", () => {
  it("ends every session, refuses sign-ins, and is undone without restoring a session", async () => {
    const { id, email } = await active("org-admin", { orgId });
    const sessions = [await login(email), await login(email)];
    const sessionId = sessions[0]?.principal?.sessionId ?? "";
    const resolve = () => codeOf(identity.anonymous().resolveSession({ sessionId, userId: id }));
    const refresh = () =>
      codeOf(identity.anonymous().refresh({ refreshToken: sessions[1]?.tokens?.refreshToken ?? "" }));
    expect(await resolve()).toBe("answered");
    expect((await users().disableUser({ id })).user?.status).toBe("disabled");
    expect([await resolve(), await refresh(), await codeOf(login(email))]).toEqual([
      "session_revoked",
      "session_revoked",
      "invalid_credentials",
    ]);
    expect((await users().disableUser({ id })).user?.status).toBe("disabled");
    expect((await users().enableUser({ id })).user?.status).toBe("active");
    expect([await resolve(), await refresh()]).toEqual(["session_revoked", "invalid_refresh_token"]);
    expect(await codeOf(login(email))).toBe("answered");
    const actions = (await actionsOf(id)).filter((action) => /able$/.test(action));
    expect(actions).toEqual(["user.disable", "user.enable"]);
    // Announced at the second call, too: the first may still be waiting for the gateways.
    expect((await events(id)).length).toBeGreaterThanOrEqual(4);
  });

  it("differs from ending their sessions, after which they sign in again", async () => {
    const { id, email } = await active("org-admin", { orgId });
    const sessions = [await login(email), await login(email)];
    expect((await users().endUserSessions({ id })).ended).toBe(2);
    for (const { principal } of sessions) {
      const sessionId = principal?.sessionId ?? "";
      expect(await codeOf(identity.anonymous().resolveSession({ sessionId, userId: id }))).toBe("session_revoked");
    }
    expect(await codeOf(login(email))).toBe("answered");
    expect((await users().endUserSessions({ id })).ended).toBe(1);
    expect((await actionsOf(id)).filter((action) => action === "user.sessions.end")).toHaveLength(2);
    expect(await codeOf(users().endUserSessions({ id: uuidv7() }))).toBe("user_not_found");
  });

  it("withdraws an invitation; once enabled again the user is invited again", async () => {
    const { id, inviteToken, email } = await invited("org-viewer", { orgId });
    await users().disableUser({ id });
    expect(await codeOf(accept(inviteToken))).toBe("invalid_token");
    expect(await codeOf(users().resendInvite({ id }))).toBe("user_disabled");
    expect((await users().enableUser({ id })).user?.status).toBe("invited");
    const again = await users().resendInvite({ id });
    await accept(again.inviteToken);
    expect(await codeOf(login(email))).toBe("answered");
  });
});

describe("resending an invitation", () => {
  it("voids the earlier invitations, and is refused once one was accepted", async () => {
    const { id, inviteToken } = await invited("org-viewer", { orgId });
    const second = (await users().resendInvite({ id })).inviteToken;
    const third = (await users().resendInvite({ id })).inviteToken;
    expect([await codeOf(accept(inviteToken)), await codeOf(accept(second))]).toEqual([
      "invalid_token",
      "invalid_token",
    ]);
    expect(await codeOf(accept(third))).toBe("answered");
    expect(await codeOf(users().resendInvite({ id }))).toBe("invitation_accepted");
    const rows = await identity.auditOf(id);
    expect(rows.map((row) => row.action)).toEqual(["user.create", "user.invite", "user.invite", "user.invite.accept"]);
    expect(rows.map((row) => row.detailsJson).join()).not.toContain("inv_");
  });
});

describe("removing a user", () => {
  it("leaves only the audit trail, and frees the address", async () => {
    const { id, email } = await active("org-admin", { orgId });
    const session = await login(email);
    const sessionId = session.principal?.sessionId ?? "";
    expect(await codeOf(users().deleteUser({ id }))).toBe("answered");
    expect(await codeOf(identity.anonymous().resolveSession({ sessionId, userId: id }))).toBe("session_revoked");
    expect(await codeOf(login(email))).toBe("invalid_credentials");
    expect(await codeOf(users().getUser({ id }))).toBe("user_not_found");
    expect(await codeOf(users().deleteUser({ id }))).toBe("user_not_found");
    const row = (await identity.auditOf(id)).at(-1);
    expect([row?.action, row?.resourceName, JSON.parse(row?.detailsJson ?? "").changes.before.email]).toEqual([
      "user.delete",
      "Ada",
      email,
    ]);
    const { user } = await users().inviteUser({ email, name: "New", roleId: identity.roleId("org-viewer"), orgId });
    expect(user?.id).not.toBe(id);
  });
});

describe("an address in use", () => {
  const invite = (by: Caller, email: string) =>
    identity
      .usersAs(by)
      .inviteUser({ email, name: "Ada", roleId: identity.roleId("org-viewer"), orgId: by.orgId ?? orgId });

  it("is reported as taken to callers who can see its account, and treated as free for others", async () => {
    const other = await identity.addPartner();
    const { id, email } = await active("org-viewer", { orgId: await identity.addOrganization(other) });
    const otherAdmin = await identity.user(callers.orgAdmin(partnerId, orgId));
    const cold = await invite(otherAdmin, `${uuidv7()}@example.com`);
    const warm = await invite(otherAdmin, email.toUpperCase());
    expect(Object.keys(warm.user ?? {})).toEqual(Object.keys(cold.user ?? {}));
    expect(warm.user).toMatchObject({ status: "invited", orgId, email: email.toUpperCase() });
    expect(warm.inviteToken).toMatch(/^inv_/);
    // Once in one place.
    expect(await codeOf(invite(otherAdmin, email))).toBe("email_taken");
    expect(await codeOf(invite(await identity.user(callers.partnerAdmin(partnerId)), email))).toBe("email_taken");
    expect(await codeOf(invite(rootCaller, email))).toBe("email_taken");

    // The account has proven its address: the other invitation is answered like an expired one.
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET email_proof = 'mailbox' WHERE id = ${id}`),
    );
    expect(await codeOf(accept(warm.inviteToken))).toBe("invalid_token");
    const denied = (await identity.auditOf(warm.user?.id ?? "")).at(-1);
    expect([denied?.action, denied?.orgId]).toEqual(["user.invite.accept", orgId]);
    expect((await login(email)).principal?.userId).toBe(id);
    await users().deleteUser({ id });
    expect(await codeOf(accept(warm.inviteToken))).toBe("answered");
    expect((await login(email)).principal?.userId).toBe(warm.user?.id);
  });

  it("is an account of each tenant that invited it, while nobody proves the mailbox", async () => {
    const email = `${uuidv7()}@example.com`;
    const admins = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const own = await identity.addPartner();
        return identity.user(callers.orgAdmin(own, await identity.addOrganization(own)));
      }),
    );
    const invitations = await Promise.all(admins.map((by) => invite(by, email)));
    const codes = await Promise.all(invitations.map(({ inviteToken }) => codeOf(accept(inviteToken))));
    expect(codes).toEqual(Array<string>(5).fill("answered"));
    expect(await codeOf(login(email))).toBe("answered");
  });
});

describe("a list of users", () => {
  it("is filtered by organization, role, status and word prefixes, with wildcards taken literally", async () => {
    const org = await identity.addOrganization(partnerId);
    const later = () => {
      identity.clock.now = new Date(identity.clock.now.getTime() + 1_000);
    };
    const named = async (name: string, role: string) => {
      later();
      return (await invited(role, { orgId: org, name })).id;
    };
    const [ada, percent] = [await named("Ada Lovelace", "org-admin"), await named("100%_sure", "org-viewer")];
    later();
    const gone = (await active("org-viewer", { orgId: org, name: "Gone" })).id;
    await users().disableUser({ id: gone });
    const list = async (change: object) =>
      (await users().listUsers({ page: { limit: 100 }, orgId: org, ...change })).users.map((user) => user.id);
    expect(await list({})).toEqual([gone, percent, ada]);
    expect(await list({ role: "org-admin" })).toEqual([ada]);
    expect(await list({ role: identity.roleId("org-viewer") })).toEqual([gone, percent]);
    expect(await list({ role: uuidv7() })).toEqual([]);
    expect(await list({ status: "disabled" })).toEqual([gone]);
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET mfa_enabled = true WHERE id = ${ada}::uuid`),
    );
    expect(await list({ mfaEnabled: true })).toEqual([ada]);
    expect(await list({ mfaEnabled: false })).toEqual([gone, percent]);
    expect(await list({ mfaEnabled: false, status: "invited" })).toEqual([percent]);
    expect(await list({ query: "LOVE" })).toEqual([ada]);
    expect(await list({ query: "  lovelace\tAD " })).toEqual([ada]);
    expect(await list({ query: "ada sure" })).toEqual([]);
    expect(await list({ query: "velace" })).toEqual([]);
    expect(await list({ query: "100%_S" })).toEqual([percent]);
    expect(await list({ query: "sure" })).toEqual([percent]);
    for (const nobody of ["%", "_", "\\", "\u{10ffff}"]) expect(await list({ query: nobody })).toEqual([]);
    const { email } = (await users().getUser({ id: ada })).user ?? {};
    expect(await list({ query: email?.toUpperCase() })).toEqual([ada]);
    expect(await list({ query: email?.slice(0, 30) })).toEqual([ada]);
    expect(await list({ query: email?.split("@")[0]?.split("-")[4] })).toEqual([ada]);
    expect((await list({ query: "@" })).length).toBe(0);
    await users().updateUser({ id: ada, updateMask: { paths: ["name"] }, user: { name: "Ada King" } });
    expect([await list({ query: "love" }), await list({ query: "king" })]).toEqual([[], [ada]]);
    expect((await list({ query: "example.com" })).length).toBe(3);
    const paged = async (page: object) =>
      (await users().listUsers({ page: { limit: 2, ...page }, orgId: org, query: "example.com" })).page;
    for (const page of [{ page: 1 }, { page: 2 }, { page: 3 }]) expect((await paged(page))?.total).toBe(3n);
    expect((await paged({ skipCount: true }))?.total).toBeUndefined();
    for (const bad of [{ role: "nobody" }, { status: "asleep" }, { query: "x".repeat(256) }]) {
      expect([bad, await codeOf(list(bad))]).toEqual([bad, "validation_failed"]);
    }
  });
});
