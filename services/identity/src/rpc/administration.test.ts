import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, type Permission, permissions, type Scope, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { grantable } from "../rules/catalogue.ts";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

// Checks delegation for every permission and every kind of administrator, and which administrators cannot be removed.

let identity: TestIdentity;
let partnerId: string;
let orgId: string;
let otherOrg: string;
beforeAll(async () => {
  identity = await startTestIdentity();
  partnerId = await identity.addPartner();
  [orgId, otherOrg] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
});
afterAll(() => identity?.close());

type Tenant = { scope: Scope; partnerId: string | null; orgId: string | null };

/** A role of this scope that an entitled user creates. */
async function storedRole(tenant: Tenant, held: readonly string[]): Promise<string> {
  const id = uuidv7();
  await identity.db.tx(identity.system, (tx) =>
    tx.execute(sql`
      INSERT INTO roles (id, name, scope, partner_id, org_id, permissions, created_at, updated_at)
      VALUES (${id}, ${id}, ${tenant.scope}, ${tenant.partnerId}, ${tenant.orgId}, ${[...held]}::text[], now(), now())`),
  );
  return id;
}

async function storedUser(tenant: Tenant, roleId: string, orgAccess = "none"): Promise<string> {
  const id = uuidv7();
  await identity.db.tx(identity.system, (tx) =>
    tx.execute(sql`
      INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, org_access, status, created_at, updated_at)
      VALUES (${id}, ${`${id}@example.com`}, 'Somebody', ${tenant.scope}, ${tenant.partnerId}, ${tenant.orgId}, ${roleId},
              ${orgAccess}, 'active', now(), now())`),
  );
  return id;
}

const wanted = (roleId: string, tenant: Tenant) => ({
  email: `${uuidv7()}@example.com`,
  name: "Ada",
  roleId,
  partnerId: tenant.partnerId ?? "",
  orgId: tenant.orgId ?? "",
});

/** Every way of granting a permission, or of managing a user who holds it. */
async function waysToHandOn(by: Caller, tenant: Tenant, permission: Permission): Promise<Record<string, string>> {
  const users = identity.usersAs(by);
  const roles = identity.rolesAs(by);
  const [having, empty] = [await storedRole(tenant, [permission]), await storedRole(tenant, [])];
  const [holder, other] = [await storedUser(tenant, having), await storedUser(tenant, empty)];
  const updateOf = (change: object) => ({ user: change });
  const done: Record<string, string> = {
    invite: await codeOf(users.inviteUser(wanted(having, tenant))),
    assign: await codeOf(
      users.updateUser({ id: other, updateMask: { paths: ["role_id"] }, ...updateOf({ roleId: having }) }),
    ),
    rename: await codeOf(users.updateUser({ id: holder, updateMask: { paths: ["name"] }, ...updateOf({ name: "E" }) })),
    disable: await codeOf(users.disableUser({ id: holder })),
    enable: await codeOf(users.enableUser({ id: holder })),
    remove: await codeOf(users.deleteUser({ id: holder })),
  };
  if (tenant.scope === "system") return done;
  const name = uuidv7();
  const own = { name, permissions: [permission], scope: tenant.scope, partnerId: tenant.partnerId ?? "" };
  return {
    ...done,
    create: await codeOf(roles.createRole({ ...own, orgId: tenant.orgId ?? "" })),
    editInto: await codeOf(
      roles.updateRole({ id: empty, updateMask: { paths: ["permissions"] }, role: { permissions: [permission] } }),
    ),
    editOut: await codeOf(
      roles.updateRole({ id: having, updateMask: { paths: ["permissions"] }, role: { permissions: [] } }),
    ),
    delete: await codeOf(roles.deleteRole({ id: await storedRole(tenant, [permission]) })),
  };
}

const all = (done: Record<string, string>, code: string) =>
  Object.fromEntries(Object.keys(done).map((way) => [way, code]));

describe("a caller without a permission cannot grant it", () => {
  const own = () => ({ scope: "partner" as const, partnerId, orgId: null });
  const organization = () => ({ scope: "organization" as const, partnerId, orgId });
  const platform: Tenant = { scope: "system", partnerId: null, orgId: null };
  const actors: [string, () => Caller, () => Tenant][] = [
    ["the platform, among its own", () => callers.platformAdmin(), () => platform],
    ["the platform, at a partner", () => callers.platformAdmin(), own],
    ["the platform, at an organization", () => callers.platformAdmin(), organization],
    ["a partner with all organizations", () => callers.partnerAdmin(partnerId), own],
    ["such a partner, at an organization", () => callers.partnerAdmin(partnerId), organization],
    ["a partner with a list, at one of it", () => callers.partnerWithList(partnerId, [orgId]), organization],
    ["an organization", () => callers.orgAdmin(partnerId, orgId), organization],
  ];
  it.each(actors)(
    "%s: for each permission, with it everything, without it nothing, though the token still has it",
    async (_name, caller, tenantOf) => {
      const tenant = tenantOf();
      const by = await identity.user(caller());
      const needed: readonly Permission[] = ["users:write", "roles:write"];
      for (const permission of grantable(tenant.scope)) {
        await identity.setHeld(by, permissions);
        const allowed = await waysToHandOn(by, tenant, permission);
        expect([permission, allowed]).toEqual([permission, all(allowed, "answered")]);
        await identity.setHeld(
          by,
          permissions.filter((held) => held !== permission),
        );
        const denied = await waysToHandOn(by, tenant, permission);
        // Without these two there is nothing that one may try at all.
        if (needed.includes(permission)) {
          for (const code of Object.values(denied)) expect(["permission_denied", "delegation_denied"]).toContain(code);
        } else expect([permission, denied]).toEqual([permission, all(denied, "delegation_denied")]);
      }
    },
    120_000,
  );

  it("a caller cannot grant organizations that they have lost, whatever their token contains", async () => {
    const by = await identity.user(callers.partnerWithList(partnerId, [orgId]));
    const wide = { ...by, orgAccess: { mode: "all" as const } };
    const roleId = identity.roleId("partner-technician");
    const as = identity.usersAs(wide);
    const invite = (change: object) => codeOf(as.inviteUser({ ...wanted(roleId, own()), ...change }));
    expect(await invite({ orgAccess: "all" })).toBe("delegation_denied");
    expect(await invite({ orgIds: [otherOrg] })).toBe("organization_not_found");
    expect(await invite({ orgIds: [orgId] })).toBe("answered");
    const userId = await storedUser(own(), roleId);
    const change = (paths: string[], user: object) =>
      codeOf(as.updateUser({ id: userId, updateMask: { paths }, user }));
    expect(await change(["org_access"], { orgAccess: "all" })).toBe("delegation_denied");
    expect(await change(["org_ids"], { orgIds: [otherOrg] })).toBe("organization_not_found");
    expect(await change(["org_ids"], { orgIds: [orgId] })).toBe("answered");
    const role = await storedRole(own(), []);
    const rename = { id: role, updateMask: { paths: ["name"] }, role: { name: uuidv7() } };
    expect(await codeOf(identity.rolesAs(wide).updateRole(rename))).toBe("scope_not_allowed");
    const elsewhere = { name: uuidv7(), permissions: [], orgId: otherOrg };
    expect(await codeOf(identity.rolesAs(wide).createRole(elsewhere))).toBe("organization_not_found");
  });

  it.each([
    ["disabled", sql`status = 'disabled'`, "permission_denied"],
    ["limited to sites", sql`site_restricted = true`, "site_restricted"],
  ])("refuses a caller who was %s a moment ago", async (_what, change, code) => {
    const by = await identity.user(callers.partnerAdmin(partnerId));
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET ${change} WHERE id = ${by.actor.id}`),
    );
    const roleId = identity.roleId("partner-technician");
    expect(await codeOf(identity.usersAs(by).inviteUser(wanted(roleId, own())))).toBe(code);
    expect(await codeOf(identity.rolesAs(by).createRole({ name: uuidv7(), permissions: [] }))).toBe(code);
  });
});

describe("the last administrator", () => {
  /** A new partner with this many administrators. */
  async function partnerWith(count: number, access = "all") {
    const id = await identity.addPartner();
    const tenant: Tenant = { scope: "partner", partnerId: id, orgId: null };
    const admins: string[] = [];
    for (let i = 0; i < count; i++) admins.push(await storedUser(tenant, identity.roleId("partner-admin"), access));
    return { id, tenant, admins };
  }
  /** That user as a caller. */
  const as = (id: string, partner: string): Caller => {
    const caller = callers.partnerAdmin(partner, { permissions: [...permissions], mfaAt: identity.clock.now });
    return { ...caller, actor: { ...caller.actor, id } };
  };
  const remaining = async (partner: string) =>
    (
      await identity.db.read<{ n: number }>(
        identity.system,
        sql`SELECT count(*)::integer AS n FROM users u JOIN roles r ON r.id = u.role_id
            WHERE u.partner_id = ${partner} AND u.status = 'active' AND r.key = 'partner-admin' AND u.org_access = 'all'`,
      )
    )[0]?.n;

  const ways: [string, (by: Caller, id: string) => Promise<unknown>][] = [
    ["disabled", (by, id) => identity.usersAs(by).disableUser({ id })],
    ["removed", (by, id) => identity.usersAs(by).deleteUser({ id })],
    [
      "demoted",
      (by, id) =>
        identity.usersAs(by).updateUser({
          id,
          updateMask: { paths: ["role_id"] },
          user: { roleId: identity.roleId("partner-technician") },
        }),
    ],
    [
      "left with some organizations",
      (by, id) =>
        identity.usersAs(by).updateUser({ id, updateMask: { paths: ["org_access"] }, user: { orgAccess: "none" } }),
    ],
  ];
  it.each(ways)("cannot be %s in a partner, by themselves or by the platform", async (_what, change) => {
    const { id, admins } = await partnerWith(1);
    const root = await identity.user(callers.platformAdmin());
    for (const by of [as(admins[0] ?? "", id), root]) {
      expect(await codeOf(change(by, admins[0] ?? ""))).toBe("last_administrator");
    }
    expect(await remaining(id)).toBe(1);
    await storedUser({ scope: "partner", partnerId: id, orgId: null }, identity.roleId("partner-admin"), "all");
    expect(await codeOf(change(as(admins[0] ?? "", id), admins[0] ?? ""))).toBe("answered");
  });

  it.each(ways)("remains in a partner when 20 are %s at once, each by themselves", async (_what, change) => {
    const { id, admins } = await partnerWith(20);
    const codes = await Promise.all(admins.map((admin) => codeOf(change(as(admin, id), admin))));
    expect(codes.filter((code) => code === "answered")).toHaveLength(19);
    expect(codes.filter((code) => code === "last_administrator")).toHaveLength(1);
    expect(await remaining(id)).toBe(1);
  });

  it("remains for a partner when 20 disable one another at once", async () => {
    const { id, admins } = await partnerWith(20);
    const next = (i: number) => admins[(i + 1) % admins.length] ?? "";
    const codes = await Promise.all(
      admins.map((admin, i) => codeOf(identity.usersAs(as(admin, id)).disableUser({ id: next(i) }))),
    );
    expect(await remaining(id)).toBeGreaterThanOrEqual(1);
    // A user who was disabled before their own change ran is refused.
    for (const code of codes) expect(["answered", "permission_denied", "last_administrator"]).toContain(code);
  });

  it("does not include users who are disabled, invited, limited or hold fewer permissions", async () => {
    const { id, tenant, admins } = await partnerWith(1);
    const role = identity.roleId("partner-admin");
    const set = (user: string, change: ReturnType<typeof sql>) =>
      identity.db.tx(identity.system, (tx) => tx.execute(sql`UPDATE users SET ${change} WHERE id = ${user}`));
    await set(await storedUser(tenant, role, "all"), sql`status = 'disabled'`);
    await set(await storedUser(tenant, role, "all"), sql`status = 'invited'`);
    await set(await storedUser(tenant, role, "all"), sql`site_restricted = true`);
    const less = grantable("partner").slice(1);
    await storedUser(tenant, await storedRole(tenant, less), "all");
    // With some organizations only: enough to disable one of two such users, not the last one with all organizations.
    await storedUser(tenant, role, "selected");
    const by = as(admins[0] ?? "", id);
    expect(await codeOf(identity.usersAs(by).disableUser({ id: admins[0] ?? "" }))).toBe("last_administrator");
  });

  it("is protected, too, when no user has all organizations", async () => {
    const { id, admins } = await partnerWith(2, "selected");
    const by = await identity.user(callers.platformAdmin());
    const codes = await Promise.all(admins.map((admin) => codeOf(identity.usersAs(by).disableUser({ id: admin }))));
    expect(codes.sort()).toEqual(["answered", "last_administrator"]);
    expect(id).not.toBe("");
  });

  it("by a custom role is not lost with an edit of the role", async () => {
    const { id, tenant, admins } = await partnerWith(1);
    const role = await storedRole(tenant, grantable("partner"));
    const another = await storedUser(tenant, role, "all");
    const edit = { id: role, updateMask: { paths: ["permissions"] }, role: { permissions: ["users:read"] } };
    // The seeded administrator exists as long as no test disables them.
    expect(await codeOf(identity.usersAs(as(another, id)).disableUser({ id: admins[0] ?? "" }))).toBe("answered");
    expect(await codeOf(identity.rolesAs(as(another, id)).updateRole(edit))).toBe("last_administrator");
    const root = await identity.user(callers.platformAdmin());
    expect(await codeOf(identity.usersAs(root).enableUser({ id: admins[0] ?? "" }))).toBe("answered");
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET status = 'active' WHERE id = ${admins[0] ?? ""}`),
    );
    expect(await codeOf(identity.rolesAs(as(another, id)).updateRole(edit))).toBe("answered");
  });

  it("is not protected for a deleted partner", async () => {
    const { id, admins } = await partnerWith(1);
    await identity.setStatus("partner", id, "active", true);
    const root = await identity.user(callers.platformAdmin());
    expect(await codeOf(identity.usersAs(root).deleteUser({ id: admins[0] ?? "" }))).toBe("answered");
  });
});

describe("the last platform administrator", () => {
  it("remains after 20 parallel attempts", async () => {
    const own = await startTestIdentity();
    try {
      const admins = await Promise.all(Array.from({ length: 20 }, () => own.user(callers.platformAdmin())));
      const codes = await Promise.all(
        admins.map((admin) => codeOf(own.usersAs(admin).disableUser({ id: admin.actor.id }))),
      );
      expect(codes.filter((code) => code === "answered")).toHaveLength(19);
      expect(codes.filter((code) => code === "last_administrator")).toHaveLength(1);
    } finally {
      await own.close();
    }
  });
});
