import { describe, expect, it } from "@jest/globals";
import { type AppError, type Caller, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { grantable } from "./catalogue.ts";
import { changedUser, type Standing, userChange } from "./changed-user.ts";
import { type Administration, requireAdministrator } from "./delegation.ts";
import type { Role } from "./new-user.ts";
import { changedRole, newRole, requireWritable, roleChange } from "./role.ts";

const [partnerId, orgId, otherOrg] = [uuidv7(), uuidv7(), uuidv7()];
const everything = { permissions: [...grantable("system")] };
const root = callers.platformAdmin(everything);
const partner = callers.partnerAdmin(partnerId, everything);
const listed = callers.partnerWithList(partnerId, [orgId], everything);
const customer = callers.orgAdmin(partnerId, orgId, everything);

const refusal = (run: () => unknown): { code: string; fields: string[] } => {
  try {
    run();
  } catch (error) {
    const { code, facts } = error as AppError;
    return { code, fields: Object.keys(((facts.details ?? {}) as { fieldErrors?: object }).fieldErrors ?? {}) };
  }
  return { code: "allowed", fields: [] };
};

const role = (scope: Role["scope"], change: Partial<Role> = {}): Role => ({
  id: uuidv7(),
  scope,
  permissions: ["devices:read"],
  partnerId: null,
  orgId: null,
  ...change,
});
const standing = (change: Partial<Standing> = {}): Standing => ({
  name: "Ada",
  role: role("partner"),
  partnerId,
  orgId: null,
  orgAccess: "none",
  orgIds: [],
  siteIds: null,
  ...change,
});
const ofOrganization = (change: Partial<Standing> = {}) => standing({ role: role("organization"), orgId, ...change });

describe("a change of a user", () => {
  it.each([
    ["a name", partner, standing(), { name: "Eve" }, { name: "Eve", orgAccess: "none" }],
    ["all organizations", partner, standing(), { orgAccess: "all" }, { orgAccess: "all", orgIds: [] }],
    ["a list alone", partner, standing(), { orgIds: [orgId] }, { orgAccess: "selected", orgIds: [orgId] }],
    [
      "another list",
      partner,
      standing({ orgAccess: "selected", orgIds: [orgId] }),
      { orgIds: [otherOrg] },
      { orgIds: [otherOrg] },
    ],
    [
      "no organizations",
      partner,
      standing({ orgAccess: "selected", orgIds: [orgId] }),
      { orgAccess: "none" },
      { orgAccess: "none", orgIds: [] },
    ],
    ["what stays", listed, standing({ orgAccess: "selected", orgIds: [orgId] }), { name: "E" }, { orgIds: [orgId] }],
    ["a limit to sites", customer, ofOrganization(), { siteIds: [otherOrg] }, { siteIds: [otherOrg] }],
    ["no limit", customer, ofOrganization({ siteIds: [otherOrg] }), { siteIds: null }, { siteIds: null }],
  ] as const)("writes %s", (_what, by, before, change, expected) => {
    expect(changedUser(by, before as Standing, change, null)).toMatchObject(expected);
  });

  it.each([
    ["a role of another scope", root, standing(), {}, role("organization"), "validation_failed"],
    ["another partner's role", root, standing(), {}, role("partner", { partnerId: uuidv7() }), "role_not_found"],
    [
      "another organization's role",
      root,
      ofOrganization(),
      {},
      role("organization", { orgId: otherOrg }),
      "role_not_found",
    ],
    ["no role", root, standing(), { roleId: uuidv7() }, null, "role_not_found"],
    ["organizations of an organization's user", root, ofOrganization(), { orgIds: [orgId] }, null, "validation_failed"],
    ["a list beside all", root, standing(), { orgAccess: "all", orgIds: [orgId] }, null, "validation_failed"],
    [
      "sites of the platform's user",
      root,
      standing({ role: role("system"), partnerId: null }),
      { siteIds: [orgId] },
      null,
      "validation_failed",
    ],
    ["an organization off the list", listed, standing(), { orgIds: [otherOrg] }, null, "organization_not_found"],
    ["all from a user with a list", listed, standing(), { orgAccess: "all" }, null, "delegation_denied"],
    [
      "a user with all, by one with a list",
      listed,
      standing({ orgAccess: "all" }),
      { name: "E" },
      null,
      "delegation_denied",
    ],
    [
      "a user with another organization",
      listed,
      standing({ orgAccess: "selected", orgIds: [otherOrg] }),
      { orgAccess: "none" },
      null,
      "delegation_denied",
    ],
  ] as const)("is never %s", (_what, by, before, change, newRole, code) => {
    const wanted = newRole && !("roleId" in change) ? { ...change, roleId: newRole.id } : change;
    expect(refusal(() => changedUser(by, before as Standing, wanted, newRole)).code).toBe(code);
  });

  const input = { name: "A", roleId: uuidv7(), orgAccess: "all", orgIds: [], siteRestricted: true, siteIds: [orgId] };
  it.each([
    ["name", ["name"], { name: " " }],
    ["name", ["name"], { name: "x".repeat(256) }],
    ["roleId", ["role_id"], { roleId: "x" }],
    ["orgAccess", ["org_access"], { orgAccess: "some" }],
    ["orgIds", ["org_ids"], { orgIds: ["x"] }],
    ["siteIds", ["site_ids"], { siteIds: [] }],
    ["siteIds", ["site_ids"], { siteIds: Array.from({ length: 501 }, () => uuidv7()) }],
  ] as const)("names %s when it is bad", (field, paths, change) => {
    const { code, fields } = refusal(() => userChange(paths, { ...input, ...change }));
    expect([code, fields]).toEqual(["validation_failed", [field]]);
  });

  it("needs a known field", () => {
    expect(refusal(() => userChange(["email"], input)).code).toBe("no_updates");
  });
});

describe("a role", () => {
  const wanted = { name: "Own", description: "", permissions: ["devices:read"], scope: "", partnerId: "", orgId: "" };
  it.each([
    ["a partner's own", partner, {}, { scope: "partner", partnerId, orgId: null }],
    ["a partner's for organizations", partner, { scope: "organization" }, { scope: "organization", orgId: null }],
    ["an organization's, by its partner", listed, { orgId }, { scope: "organization", partnerId, orgId }],
    ["an organization's own", customer, {}, { scope: "organization", partnerId, orgId }],
    ["one of any partner, by the platform", root, { partnerId }, { scope: "partner", partnerId, orgId: null }],
    ["one of any organization, by the platform", root, { orgId }, { scope: "organization", partnerId: null, orgId }],
  ] as const)("is %s", (_what, by, change, expected) => {
    expect(newRole(by, { ...wanted, ...change })).toMatchObject(expected);
  });

  it.each([
    ["without a tenant", root, {}, "partner_id_required"],
    ["at another partner", partner, { partnerId: uuidv7() }, "partner_not_found"],
    ["at an organization off the list", listed, { orgId: otherOrg }, "organization_not_found"],
    ["at a sibling", customer, { orgId: otherOrg }, "organization_not_found"],
    ["for the platform's users", root, { partnerId, scope: "system" }, "validation_failed"],
    ["of an organization for a partner's users", partner, { orgId, scope: "partner" }, "validation_failed"],
    ["with an unknown permission", partner, { permissions: ["devices:fly"] }, "validation_failed"],
    ["with more than a partner can hold", root, { partnerId, permissions: ["platform:admin"] }, "validation_failed"],
    [
      "with more than an organization can hold",
      partner,
      { orgId, permissions: ["partner:policy"] },
      "validation_failed",
    ],
    ["that passes for a seeded one", partner, { name: " Partner-ADMIN " }, "name_taken"],
    ["without a name", partner, { name: " " }, "validation_failed"],
    ["with a long description", partner, { description: "x".repeat(1_001) }, "validation_failed"],
    ["beyond its maker", { ...partner, permissions: ["roles:write"] }, {}, "delegation_denied"],
  ] as const)("is never made %s", (_what, by, change, code) => {
    expect(refusal(() => newRole(by as Caller, { ...wanted, ...change })).code).toBe(code);
  });

  const stored = {
    key: null,
    name: "Own",
    description: "",
    scope: "partner" as const,
    permissions: ["devices:read"],
    orgId: null,
  };
  it.each([
    ["a seeded one", root, { key: "partner-admin" }, {}, "role_immutable"],
    ["a partner's, by a user with a list", listed, {}, {}, "scope_not_allowed"],
    ["a partner's, by an organization", customer, { scope: "organization" }, {}, "scope_not_allowed"],
    [
      "one that holds more than its editor",
      { ...partner, permissions: ["roles:write"] },
      {},
      { name: "N" },
      "delegation_denied",
    ],
    ["beyond its scope", root, {}, { permissions: ["platform:admin"] }, "validation_failed"],
    ["within what everybody holds", partner, {}, { permissions: ["devices:write"] }, "allowed"],
  ] as const)("changed: %s", (_what, by, role, change, code) => {
    const before = { ...stored, ...role };
    expect(refusal(() => changedRole(by as Caller, before, change)).code).toBe(code);
    if (!("permissions" in change)) expect(refusal(() => requireWritable(by as Caller, before)).code).toBe(code);
  });

  it("has each of its permissions once, in the catalogue's order", () => {
    const permissions = ["devices:write", "audit:read", "devices:write"];
    expect(newRole(partner, { ...wanted, permissions }).permissions).toEqual(["audit:read", "devices:write"]);
  });

  it("changes only by known fields", () => {
    expect(refusal(() => roleChange(["key", "scope"], wanted)).code).toBe("no_updates");
  });
});

describe("the last administrator", () => {
  const tiers: Administration[] = [
    { any: false, ofAll: false },
    { any: true, ofAll: false },
    { any: true, ofAll: true },
  ];
  const count = (a: Administration) => Number(a.any) + Number(a.ofAll);
  it("is kept, also one with all organizations: every combination of before, after and others", () => {
    for (const before of tiers)
      for (const after of tiers)
        for (const others of tiers) {
          const isLost = count(after) < count(before) && count(others) < count(before);
          const got = refusal(() => requireAdministrator(before, after, others)).code;
          expect([before, after, others, got]).toEqual([
            before,
            after,
            others,
            isLost ? "last_administrator" : "allowed",
          ]);
        }
  });
});
