import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, permissions, uuidv7 } from "@muster/kit";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { callers } from "@muster/testing";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
let rootCaller: Caller;
beforeAll(async () => {
  identity = await startTestIdentity();
  rootCaller = await identity.user(callers.platformAdmin());
});
afterAll(() => identity?.close());

const password = "a long enough password";
const email = () => `${uuidv7()}@example.com`;
const root = () => identity.usersAs({ ...rootCaller, mfaAt: identity.clock.now });
const wanted = (roleKey: string, change: object = {}) => ({
  email: email(),
  name: "Ada",
  roleId: identity.roleId(roleKey),
  ...change,
});
const accept = (token: string, change: object = {}) =>
  identity.usersAs(callers.service("gateway")).acceptInvite({ token, password, ...change });

describe("inviting", () => {
  it("creates an invited partner user with grants, one audit row and no secret in it", async () => {
    const partnerId = await identity.addPartner();
    const orgIds = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)].sort();
    const { user, inviteToken } = await root().inviteUser(wanted("partner-technician", { partnerId, orgIds }));
    expect(user).toMatchObject({
      scope: "partner",
      partnerId,
      orgId: "",
      role: "partner-technician",
      orgAccess: "selected",
      orgIds,
      siteRestricted: false,
      status: "invited",
      mfaEnabled: false,
    });
    const rows = await identity.auditOf(user?.id ?? "");
    expect(rows.map((row) => `${row.action} ${row.chainId}`)).toEqual([`user.create ${partnerId}`]);
    expect(JSON.parse(rows[0]?.detailsJson ?? "").changes.after).toMatchObject({ orgAccess: "selected", orgIds });
    expect(rows[0]?.detailsJson).not.toContain(inviteToken);
    const stored = await identity.db.read<{ token_hash: Buffer }>(identity.system, sql`SELECT token_hash FROM invites`);
    expect(stored.every((row) => !row.token_hash.includes(inviteToken))).toBe(true);
  });

  it("under an Idempotency-Key creates one user, whose token is returned again and never stored in clear", async () => {
    const caller = await identity.user(callers.platformAdmin());
    const as = identity.port.client(UserService, caller, { idempotencyKey: uuidv7() });
    const user = wanted("platform-admin");
    const replies = await Promise.all(Array.from({ length: 5 }, () => as.inviteUser(user)));
    for (const reply of replies) expect(reply).toEqual(replies[0]);
    expect(await codeOf(as.inviteUser({ ...user, name: "Eve" }))).toBe("idempotency_conflict");
    const [stored, ...others] = await identity.db.read<{ reply: Buffer }>(
      { caller },
      sql`SELECT reply FROM idempotency`,
    );
    expect(others).toEqual([]);
    expect(stored?.reply.includes(replies[0]?.inviteToken as string)).toBe(false);
    expect(await codeOf(accept(replies[0]?.inviteToken as string))).toBe("answered");
  });

  it("derives the partner of an organization user, and limits them to sites", async () => {
    const partnerId = await identity.addPartner();
    const orgId = await identity.addOrganization(partnerId);
    const siteId = await identity.addSite(partnerId, orgId);
    const { user } = await root().inviteUser(wanted("org-viewer", { orgId, siteIds: [siteId] }));
    expect(user).toMatchObject({ scope: "organization", partnerId, orgId, siteRestricted: true, siteIds: [siteId] });
  });

  it("refuses an e-mail in use, whatever its case, and stores nothing", async () => {
    const first = wanted("platform-admin");
    await root().inviteUser(first);
    const duplicate = root().inviteUser({ ...first, email: first.email.toUpperCase() });
    expect(await codeOf(duplicate)).toBe("email_taken");
    const racing = wanted("platform-admin");
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(root().inviteUser(racing))));
    expect(codes.filter((code) => code === "answered")).toHaveLength(1);
    expect(codes.filter((code) => code === "email_taken")).toHaveLength(9);
  });

  it("needs the permission and a recent second factor", async () => {
    const { now } = identity.clock;
    const by = (change: object) =>
      identity.usersAs({ ...rootCaller, mfaAt: now, ...change }).inviteUser(wanted("platform-admin"));
    expect(await outcomeOf(by({ permissions: ["users:read"] }))).toEqual({
      code: "permission_denied",
      required: "users:write",
    });
    expect(await codeOf(by({ mfaAt: null }))).toBe("mfa_required");
    expect(await codeOf(by({ mfaAt: new Date(now.getTime() - 481 * 60_000) }))).toBe("mfa_required");
    expect(await codeOf(by({ mfaAt: new Date(now.getTime() - 479 * 60_000) }))).toBe("answered");
  });

  it("refuses a tenant that is missing, deleted or another partner's", async () => {
    const partnerId = await identity.addPartner();
    const orgId = await identity.addOrganization(partnerId);
    const other = await identity.addPartner();
    const foreign = await identity.addOrganization(other);
    const foreignSite = await identity.addSite(other, foreign);
    const gone = await identity.addOrganization(partnerId);
    await identity.setStatus("organization", gone, "active", true);
    const tries: [object, string, string][] = [
      [{ partnerId: uuidv7() }, "partner-admin", "partner_not_found"],
      [{ orgId: uuidv7() }, "org-admin", "organization_not_found"],
      [{ orgId: gone }, "org-admin", "organization_not_found"],
      [{ orgId, partnerId: other }, "org-admin", "organization_not_found"],
      [{ partnerId, orgIds: [foreign] }, "partner-admin", "organization_not_found"],
      [{ partnerId, orgIds: [orgId, gone] }, "partner-admin", "organization_not_found"],
      [{ orgId, siteIds: [foreignSite] }, "org-viewer", "site_not_found"],
      [{ orgId, siteIds: [uuidv7()] }, "org-viewer", "site_not_found"],
      [{ orgId, roleId: uuidv7() }, "org-viewer", "role_not_found"],
      [{ orgId, roleId: "org-viewer" }, "org-viewer", "role_not_found"],
    ];
    for (const [change, role, code] of tries) {
      expect([change, await codeOf(root().inviteUser(wanted(role, change)))]).toEqual([change, code]);
    }
  });

  it("lets organization administrators invite into their own organization only", async () => {
    const partnerId = await identity.addPartner();
    const [orgId, sibling] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
    const by = identity.usersAs(await identity.user(callers.orgAdmin(partnerId, orgId)));
    expect((await by.inviteUser(wanted("org-viewer"))).user).toMatchObject({ orgId, partnerId, orgAccess: "none" });
    expect(await codeOf(by.inviteUser(wanted("org-viewer", { orgId: sibling })))).toBe("organization_not_found");
    expect(await codeOf(by.inviteUser(wanted("partner-admin")))).toBe("role_not_found");
    const restricted = identity.usersAs(
      await identity.user(callers.orgAdmin(partnerId, orgId, { siteIds: [uuidv7()] })),
    );
    expect(await codeOf(restricted.inviteUser(wanted("org-viewer")))).toBe("site_restricted");
    // Before anything of the request is looked at.
    expect(await codeOf(restricted.inviteUser(wanted("org-viewer", { roleId: uuidv7() })))).toBe("site_restricted");
  });

  it("keeps a partner user with an organization list within it", async () => {
    const partnerId = await identity.addPartner();
    const [mine, other] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
    const by = identity.usersAs(await identity.user(callers.partnerWithList(partnerId, [mine])));
    const tries: [string, object, string][] = [
      ["org-admin", { orgId: mine }, "answered"],
      ["org-admin", { orgId: other }, "organization_not_found"],
      ["partner-technician", { orgAccess: "selected", orgIds: [mine] }, "answered"],
      ["partner-technician", { orgAccess: "none" }, "answered"],
      ["partner-technician", { orgAccess: "selected", orgIds: [mine, other] }, "organization_not_found"],
      ["partner-technician", { orgAccess: "all" }, "delegation_denied"],
      ["partner-technician", { partnerId: await identity.addPartner() }, "partner_not_found"],
      ["platform-admin", {}, "role_not_found"],
    ];
    for (const [role, change, code] of tries) {
      expect([role, change, await codeOf(by.inviteUser(wanted(role, change)))]).toEqual([role, change, code]);
    }
  });

  it("refuses a permission that the inviter does not hold, and names it", async () => {
    const partnerId = await identity.addPartner();
    const caller = await identity.user(callers.partnerAdmin(partnerId));
    const less = permissions.filter((p) => p !== "partner:policy");
    // The token still contains all permissions.
    await identity.setHeld(caller, less);
    const by = identity.usersAs(caller);
    expect(await outcomeOf(by.inviteUser(wanted("partner-admin")))).toEqual({
      code: "delegation_denied",
      permissions: ["partner:policy"],
    });
    expect(await codeOf(by.inviteUser(wanted("partner-technician")))).toBe("answered");
  });
});

describe("accepting an invitation", () => {
  it("sets the password once, enables sign-in, and audits it once", async () => {
    const invited = wanted("platform-admin");
    const { user, inviteToken } = await root().inviteUser(invited);
    const login = () => identity.anonymous().login({ email: invited.email, password });
    expect(await codeOf(login())).toBe("invalid_credentials");
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(accept(inviteToken, { name: "Ada L." }))));
    expect(codes.filter((code) => code === "answered")).toHaveLength(1);
    expect(codes.filter((code) => code === "invalid_token")).toHaveLength(4);
    expect((await login()).principal).toMatchObject({ userId: user?.id, name: "Ada L.", userVersion: 2 });
    const actions = (await identity.auditOf(user?.id ?? "")).map((row) => row.action);
    expect(actions.filter((action) => action !== "user.login.failed")).toEqual([
      "user.create",
      "user.invite.accept",
      "user.login",
    ]);
  });

  it("expires after seven days, and refuses every other token", async () => {
    const { inviteToken } = await root().inviteUser(wanted("platform-admin"));
    identity.clock.now = new Date(identity.clock.now.getTime() + 7 * 86_400_000 + 1);
    expect(await codeOf(accept(inviteToken))).toBe("invalid_token");
    expect(await codeOf(accept("inv_nonsense"))).toBe("invalid_token");
    expect(await codeOf(accept(""))).toBe("invalid_token");
  });

  it.each([
    ["eleven characters", () => "x".repeat(11)],
    ["too many", () => "x".repeat(1_025)],
    ["the e-mail itself", (address: string) => ` ${address.toUpperCase()}`],
    ["a well-known word and some digits", () => "Password1234!"],
    ["the e-mail's first part, dressed up", (address: string) => `${address.split("@")[0]}!2026`],
  ])("refuses a password of %s and keeps the invitation", async (_name, bad) => {
    const invited = wanted("platform-admin");
    const { inviteToken } = await root().inviteUser(invited);
    expect(await codeOf(accept(inviteToken, { password: bad(invited.email) }))).toBe("validation_failed");
    expect(await codeOf(accept(inviteToken))).toBe("answered");
  });
});

describe("a name given with the acceptance", () => {
  it("is one line of text, and an invalid name leaves the invitation open", async () => {
    const { inviteToken } = await root().inviteUser(wanted("platform-admin"));
    for (const name of ["Ada\nLovelace", "Ada\u202eL", "x".repeat(256)]) {
      expect([name, await codeOf(accept(inviteToken, { name }))]).toEqual([name, "validation_failed"]);
    }
    expect(await codeOf(accept(inviteToken, { name: " " }))).toBe("answered");
  });
});

describe("reading users", () => {
  it("returns each caller the users visible to them, newest first, by page and by cursor", async () => {
    const partnerId = await identity.addPartner();
    const [a, b] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
    const ids: Record<string, string> = {};
    for (const [name, role, change] of [
      ["partner", "partner-admin", { partnerId }],
      ["a", "org-admin", { orgId: a }],
      ["b", "org-admin", { orgId: b }],
    ] as const) {
      identity.clock.now = new Date(identity.clock.now.getTime() + 1_000);
      ids[name] = (await root().inviteUser(wanted(role, change))).user?.id ?? "";
    }
    const held = { permissions: ["users:read", "roles:read"] };
    const seen = async (caller: Parameters<typeof identity.usersAs>[0]) =>
      (
        await identity.usersAs(caller).listUsers({ page: { limit: 100 }, partnerId: caller.orgId ? "" : partnerId })
      ).users.map((user) => user.id);
    expect(await seen(callers.platformAdmin(held))).toEqual([ids.b, ids.a, ids.partner]);
    expect(await seen(callers.partnerAdmin(partnerId, held))).toEqual([ids.b, ids.a, ids.partner]);
    expect(await seen(callers.partnerWithList(partnerId, [a], held))).toEqual([ids.a, ids.partner]);
    expect(await seen(callers.partnerWithList(partnerId, [], held))).toEqual([ids.partner]);
    expect(await seen(callers.orgAdmin(partnerId, b, held))).toEqual([ids.b]);
    expect(await codeOf(seen(callers.partnerAdmin(await identity.addPartner(), held)))).toBe("partner_not_found");
    const foreign = identity.usersAs(callers.orgAdmin(partnerId, b, held)).listUsers({ orgId: a });
    expect(await codeOf(foreign)).toBe("organization_not_found");

    const one = identity.usersAs(callers.orgAdmin(partnerId, b, held));
    expect((await one.getUser({ id: ids.b ?? "" })).user?.orgId).toBe(b);
    for (const id of [ids.a ?? "", ids.partner ?? "", uuidv7(), "nonsense"]) {
      expect(await codeOf(one.getUser({ id }))).toBe("user_not_found");
    }
    const walked: string[] = [];
    let cursor = "";
    do {
      const client = identity.usersAs(callers.partnerAdmin(partnerId, held));
      const { users, page } = await client.listUsers({ page: { limit: 1, cursor, skipCount: true } });
      walked.push(...users.map((user) => user.id));
      cursor = page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(walked).toEqual([ids.b, ids.a, ids.partner]);
    const bad = identity.usersAs(callers.partnerAdmin(partnerId, held));
    for (const text of ["xyz", Buffer.from('["a","b"]').toString("base64url")]) {
      expect(await codeOf(bad.listUsers({ page: { cursor: text } }))).toBe("validation_failed");
    }
  });
});

describe("the tables themselves", () => {
  it("return no rows without a caller", async () => {
    for (const table of [
      "users",
      "user_sites",
      "user_organizations",
      "invites",
      "user_totp",
      "recovery_codes",
      "mfa_challenges",
      "passkeys",
      "password_resets",
      "mail",
      "failed_attempts",
      "failed_logins",
      "tenant",
      "sessions",
      "roles",
    ]) {
      const rows = await identity.db.read({ caller: null }, { text: `SELECT 1 FROM ${table}`, values: [] });
      expect([table, rows.length]).toEqual([table, 0]);
    }
  });
});
