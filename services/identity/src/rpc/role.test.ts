import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { RoleChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { callers } from "@muster/testing";
import { maxRoles } from "../rules/role.ts";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

/** A partner with two organizations and an administrator of each kind. */
async function tenant() {
  const partnerId = await identity.addPartner();
  const [orgId, sibling] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
  return {
    partnerId,
    orgId,
    sibling,
    root: await identity.user(callers.platformAdmin()),
    partner: await identity.user(callers.partnerAdmin(partnerId)),
    listed: await identity.user(callers.partnerWithList(partnerId, [orgId])),
    customer: await identity.user(callers.orgAdmin(partnerId, orgId)),
    neighbour: await identity.user(callers.orgAdmin(partnerId, sibling)),
  };
}
const as = (caller: Caller) => identity.rolesAs(caller);
const wanted = (change: object = {}) => ({ name: `R ${uuidv7()}`, permissions: ["devices:read"], ...change });
const made = async (by: Caller, change: object = {}) => (await as(by).createRole(wanted(change))).role?.id ?? "";
const auditOf = (id: string) => identity.auditOf(id);

describe("roles of a tenant", () => {
  it("are made with owner, scope and permissions, and audited in the owner's chain", async () => {
    const { partnerId, orgId, partner, customer } = await tenant();
    const role = wanted({ description: "Reads devices" });
    const ofPartner = (await as(partner).createRole(role)).role;
    expect(ofPartner).toMatchObject({ ...role, key: "", scope: "partner", partnerId, orgId: "" });
    const ofOrg = (await as(customer).createRole(wanted())).role;
    expect(ofOrg).toMatchObject({ scope: "organization", partnerId, orgId });
    for (const [id, chain] of [
      [ofPartner?.id, partnerId],
      [ofOrg?.id, orgId],
    ] as const) {
      const rows = await auditOf(id ?? "");
      expect(rows.map((row) => [row.action, row.chainId])).toEqual([["role.create", chain]]);
    }
    expect((await as(partner).getRole({ id: ofOrg?.id ?? "" })).role).toEqual(ofOrg);
  });

  it("are created for a partner only by administrators of all of its organizations", async () => {
    const { listed, orgId, sibling } = await tenant();
    for (const change of [{}, { scope: "partner" }, { scope: "organization" }]) {
      expect(await codeOf(as(listed).createRole(wanted(change)))).toBe("scope_not_allowed");
    }
    expect((await as(listed).createRole(wanted({ orgId }))).role).toMatchObject({ scope: "organization", orgId });
    expect(await codeOf(as(listed).createRole(wanted({ orgId: sibling })))).toBe("organization_not_found");
  });

  it("are visible to, and assignable by, callers with access to their owner", async () => {
    const t = await tenant();
    const ids = {
      own: await made(t.customer),
      sibling: await made(t.neighbour),
      partner: await made(t.partner),
      forAll: await made(t.partner, { scope: "organization" }),
    };
    const other = await tenant();
    const sees = async (by: Caller) => {
      const listed = (await as(by).listRoles({ page: { limit: 100 } })).roles.map((role) => role.id);
      const names = Object.entries(ids);
      const found = await Promise.all(
        names.map(async ([, id]) => (await codeOf(as(by).getRole({ id }))) === "answered"),
      );
      expect(names.map(([, id]) => listed.includes(id))).toEqual(found);
      return names.filter((_, i) => found[i]).map(([name]) => name);
    };
    expect(await sees(t.root)).toEqual(["own", "sibling", "partner", "forAll"]);
    expect(await sees(t.partner)).toEqual(["own", "sibling", "partner", "forAll"]);
    expect(await sees(t.listed)).toEqual(["own", "partner", "forAll"]);
    expect(await sees(t.customer)).toEqual(["own", "forAll"]);
    expect(await sees(t.neighbour)).toEqual(["sibling", "forAll"]);
    expect(await sees(other.partner)).toEqual([]);
    expect(await sees(other.customer)).toEqual([]);

    const invite = (by: Caller, roleId: string, orgId: string) =>
      codeOf(identity.usersAs(by).inviteUser({ email: `${uuidv7()}@example.com`, name: "A", roleId, orgId }));
    expect(await invite(t.customer, ids.own, t.orgId)).toBe("answered");
    expect(await invite(t.customer, ids.forAll, t.orgId)).toBe("answered");
    expect(await invite(t.customer, ids.sibling, t.orgId)).toBe("role_not_found");
    expect(await invite(t.partner, ids.sibling, t.orgId)).toBe("role_not_found");
    expect(await invite(t.root, ids.forAll, other.orgId)).toBe("role_not_found");
    expect(await invite(t.partner, ids.partner, t.orgId)).toBe("validation_failed");
  });

  it("have unique names, whatever their case, also when created concurrently", async () => {
    const { partner, customer } = await tenant();
    const role = wanted();
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(as(partner).createRole(role))));
    expect(codes.sort()).toEqual(["answered", ...Array<string>(4).fill("name_taken")]);
    expect(await codeOf(as(partner).createRole({ ...role, name: role.name.toUpperCase() }))).toBe("name_taken");
    // Another owner's is another.
    expect(await codeOf(as(customer).createRole(role))).toBe("answered");
    const id = await made(partner);
    const rename = (name: string) => as(partner).updateRole({ id, updateMask: { paths: ["name"] }, role: { name } });
    expect(await codeOf(rename(role.name))).toBe("name_taken");
    expect(await codeOf(rename("Org-Admin"))).toBe("name_taken");
  });

  it("are created once under an Idempotency-Key", async () => {
    const { partner } = await tenant();
    const client = identity.port.client(RoleService, partner, { idempotencyKey: uuidv7() });
    const role = wanted();
    const replies = await Promise.all(Array.from({ length: 5 }, () => client.createRole(role)));
    for (const reply of replies) expect(reply).toEqual(replies[0]);
  });

  it("are limited in number", async () => {
    const { partner, partnerId } = await tenant();
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`
        INSERT INTO roles (id, name, scope, partner_id, permissions, created_at, updated_at)
        SELECT gen_random_uuid(), 'R' || n, 'partner', ${partnerId}, '{}', now(), now()
        FROM generate_series(1, ${maxRoles - 1}) AS n`),
    );
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => outcomeOf(as(partner).createRole(wanted()))));
    expect(outcomes.filter(({ code }) => code === "answered")).toHaveLength(1);
    expect(outcomes.filter(({ code, limit }) => code === "limit_reached" && limit === maxRoles)).toHaveLength(3);
  });
});

describe("changing a role", () => {
  it("changes its users' permissions at once, notifies the gateways once, and audits the number of users", async () => {
    const { customer, orgId, partnerId } = await tenant();
    const id = await made(customer);
    const { user } = await identity
      .usersAs(customer)
      .inviteUser({ email: `${uuidv7()}@example.com`, name: "A", roleId: id, orgId });
    const before = (await as(customer).getRole({ id })).role;
    const change = { name: "Writers", description: "Write", permissions: ["devices:write", "devices:read"] };
    const paths = ["name", "description", "permissions"];
    const { role } = await as(customer).updateRole({ id, updateMask: { paths }, role: change });
    expect(role).toMatchObject({ ...change, permissions: ["devices:read", "devices:write"] });
    expect((await identity.usersAs(customer).getUser({ id: user?.id ?? "" })).user?.role).toBe("Writers");
    const [row] = (await auditOf(id)).slice(-1);
    expect([row?.action, row?.chainId]).toEqual(["role.update", orgId]);
    expect(JSON.parse(row?.detailsJson ?? "")).toMatchObject({
      people: 1,
      changedFields: ["name", "description", "permissions"],
      changes: { before: { permissions: ["devices:read"] }, after: { permissions: ["devices:read", "devices:write"] } },
    });
    const rows = await identity.db.read<{ body: Buffer }>(
      identity.system,
      sql`SELECT body FROM outbox WHERE subject = 'auth.role' ORDER BY id`,
    );
    const events = rows.map(({ body }) => fromBinary(RoleChangedSchema, body)).filter(({ roleId }) => roleId === id);
    expect(events).toMatchObject([{ role: before?.name, partnerId }]);
  });

  it("is refused for seeded roles, and to callers with access to only some of its users", async () => {
    const t = await tenant();
    const seeded = identity.roleId("partner-technician");
    const own = await made(t.partner);
    const forAll = await made(t.partner, { scope: "organization" });
    const ofOrg = await made(t.customer);
    const change = (by: Caller, id: string) =>
      codeOf(as(by).updateRole({ id, updateMask: { paths: ["description"] }, role: { description: "x" } }));
    const remove = (by: Caller, id: string) => codeOf(as(by).deleteRole({ id }));
    for (const [by, id, code] of [
      [t.root, seeded, "role_immutable"],
      [t.partner, seeded, "role_immutable"],
      [t.listed, own, "scope_not_allowed"],
      [t.customer, forAll, "scope_not_allowed"],
      [t.customer, own, "role_not_found"],
      [t.neighbour, ofOrg, "role_not_found"],
      [{ ...t.partner, mfaAt: null }, own, "mfa_required"],
      [{ ...t.partner, permissions: ["roles:read"] }, own, "permission_denied"],
      [{ ...t.partner, siteIds: [] }, own, "site_restricted"],
    ] as const) {
      expect([code, await change(by as Caller, id)]).toEqual([code, code]);
      expect([code, await remove(by as Caller, id)]).toEqual([code, code]);
    }
    expect([await change(t.listed, ofOrg), await change(t.partner, forAll)]).toEqual(["answered", "answered"]);
  });
});

describe("deleting a role", () => {
  it("is refused while users have it, also against concurrent assignments", async () => {
    const { customer, orgId } = await tenant();
    const id = await made(customer);
    const users = identity.usersAs(customer);
    const invite = () => users.inviteUser({ email: `${uuidv7()}@example.com`, name: "A", roleId: id, orgId });
    const { user } = await invite();
    expect(await codeOf(as(customer).deleteRole({ id }))).toBe("role_in_use");
    await users.deleteUser({ id: user?.id ?? "" });
    const racing = await Promise.all([codeOf(as(customer).deleteRole({ id })), codeOf(invite())]);
    expect([
      ["answered", "role_not_found"],
      ["role_in_use", "answered"],
    ]).toContainEqual(racing);
    if (racing[0] === "answered") {
      const [row] = (await auditOf(id)).slice(-1);
      expect(row?.action).toBe("role.delete");
      expect(JSON.parse(row?.detailsJson ?? "").changes).toMatchObject({
        before: { permissions: ["devices:read"] },
        after: {},
      });
    }
  });
});

describe("the list of roles", () => {
  it("has seeded ones first, then names, by page and by cursor, filtered by owner and scope", async () => {
    const { partner, partnerId, orgId, customer } = await tenant();
    const names = ["b", "a", "c"];
    const ids: Record<string, string> = {};
    for (const name of names) ids[name] = await made(partner, { name });
    ids.org = await made(customer, { name: "z" });
    const keys = (roles: { key: string; name: string }[]) => roles.map((role) => role.key || role.name);
    const seeded = ["org-admin", "org-viewer", "partner-admin", "partner-technician"];
    const whole = await as(partner).listRoles({});
    expect(keys(whole.roles)).toEqual([...seeded, "a", "b", "c", "z"]);
    expect(whole.page?.total).toBe(8n);
    const walked: string[] = [];
    let cursor = "";
    do {
      const { roles, page } = await as(partner).listRoles({ page: { limit: 3, cursor, skipCount: true } });
      walked.push(...keys(roles));
      cursor = page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(walked).toEqual(keys(whole.roles));
    const second = await as(partner).listRoles({ page: { limit: 3, page: 2 } });
    expect(keys(second.roles)).toEqual(keys(whole.roles).slice(3, 6));
    expect(keys((await as(partner).listRoles({ partnerId })).roles)).toEqual(["a", "b", "c", "z"]);
    expect(keys((await as(partner).listRoles({ orgId })).roles)).toEqual(["z"]);
    expect(keys((await as(partner).listRoles({ scope: "organization" })).roles)).toEqual([
      "org-admin",
      "org-viewer",
      "z",
    ]);
    expect(keys((await as(customer).listRoles({})).roles)).toEqual(["org-admin", "org-viewer", "z"]);
    for (const bad of [{ page: { cursor: "xyz" } }, { scope: "world" }, { orgId: "x" }]) {
      expect([bad, await codeOf(as(partner).listRoles(bad))]).toEqual([bad, "validation_failed"]);
    }
    expect(await codeOf(as({ ...partner, permissions: [] }).listRoles({}))).toBe("permission_denied");
  });
});
