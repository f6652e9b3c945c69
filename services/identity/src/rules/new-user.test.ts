import { describe, expect, it } from "@jest/globals";
import { type AppError, permissions, type Scope, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { newUser, type Role } from "./new-user.ts";

const [partnerId, orgId, siteId] = [uuidv7(), uuidv7(), uuidv7()];
const held = { permissions: [...permissions] };
const root = callers.platformAdmin(held);
const partner = callers.partnerAdmin(partnerId, held);
const listed = callers.partnerWithList(partnerId, [orgId], held);
const customer = callers.orgAdmin(partnerId, orgId, held);
const role = (scope: Scope, change: Partial<Role> = {}): Role => ({
  id: uuidv7(),
  scope,
  permissions: ["users:read"],
  partnerId: null,
  orgId: null,
  ...change,
});
const input = (change: object = {}) => ({
  email: "ada@example.com",
  name: "Ada",
  partnerId: "",
  orgId: "",
  orgAccess: "",
  orgIds: [],
  siteIds: [],
  ...change,
});
const refusal = (run: () => unknown): { code: string; fields: string[] } => {
  try {
    run();
  } catch (error) {
    const { code, facts } = error as AppError;
    const { fieldErrors = {} } = (facts.details ?? {}) as { fieldErrors?: object };
    return { code, fields: Object.keys(fieldErrors) };
  }
  return { code: "allowed", fields: [] };
};

describe("the tenant of a new user", () => {
  it.each([
    ["a system caller's own", root, "system", {}, { partnerId: null, orgId: null, orgAccess: "all" }],
    ["the partner named", root, "partner", { partnerId }, { partnerId, orgId: null, orgAccess: "none" }],
    ["the organization named, its partner to be found", root, "organization", { orgId }, { partnerId: null, orgId }],
    ["a partner caller's own", partner, "partner", { orgAccess: "all" }, { partnerId, orgId: null, orgAccess: "all" }],
    ["a partner's organization", partner, "organization", { orgId }, { partnerId, orgId, orgAccess: "none" }],
    [
      "selected organizations",
      listed,
      "partner",
      { orgIds: [orgId, orgId] },
      { orgAccess: "selected", orgIds: [orgId] },
    ],
    ["an organization caller's own", customer, "organization", {}, { partnerId, orgId, orgAccess: "none" }],
  ] as const)("is %s", (_what, caller, scope, change, expected) => {
    expect(newUser(caller, input(change), role(scope))).toMatchObject({ scope, ...expected });
  });

  it.each([
    ["another partner", partner, "partner", { partnerId: uuidv7() }, "partner_not_found"],
    ["another partner's organization", customer, "organization", { partnerId: uuidv7() }, "partner_not_found"],
    ["an organization off the list", listed, "organization", { orgId: uuidv7() }, "organization_not_found"],
    ["a grant off the list", listed, "partner", { orgIds: [uuidv7()] }, "organization_not_found"],
    ["a sibling organization", customer, "organization", { orgId: uuidv7() }, "organization_not_found"],
  ] as const)("is never %s", (_what, caller, scope, change, code) => {
    expect(refusal(() => newUser(caller, input(change), role(scope))).code).toBe(code);
  });
});

describe("the grants of a new user", () => {
  it.each([
    ["a permission the inviter lacks", { ...partner, permissions: ["users:write"] }, {}, "delegation_denied"],
    ["all organizations from a user with a list", listed, { orgAccess: "all" }, "delegation_denied"],
    ["anything from a user limited to sites", { ...partner, siteIds: [] }, {}, "site_restricted"],
  ] as const)("is not %s", (_what, caller, change, code) => {
    expect(refusal(() => newUser(caller, input(change), role("partner"))).code).toBe(code);
  });

  it.each([
    ["partner", { partnerId: uuidv7() }],
    ["organization", { orgId: uuidv7() }],
  ] as const)("is no role of another %s", (scope, owner) => {
    const tenant = scope === "partner" ? { partnerId } : { orgId };
    expect(refusal(() => newUser(root, input(tenant), role(scope, owner))).code).toBe("role_not_found");
  });
});

describe("a new user's fields", () => {
  it.each([
    ["roleId", {}, "organization"],
    ["roleId", { orgId }, "partner"],
    ["email", { email: "nobody", partnerId }, "partner"],
    ["email", { email: `${"x".repeat(250)}@a.example`, partnerId }, "partner"],
    ["name", { name: " ", partnerId }, "partner"],
    ["name", { name: "x".repeat(256), partnerId }, "partner"],
    ["name", { name: "Ada\r\n\r\nYour account is locked", partnerId }, "partner"],
    ["name", { name: "Ada\u2028Lovelace", partnerId }, "partner"],
    ["name", { name: "Ada\u202ecod.exe", partnerId }, "partner"],
    ["partnerId", { partnerId: "x" }, "partner"],
    ["orgId", { orgId: "x" }, "organization"],
    ["orgAccess", { orgId, orgAccess: "all" }, "organization"],
    ["orgAccess", { partnerId, orgAccess: "some" }, "partner"],
    ["orgIds", { partnerId, orgAccess: "all", orgIds: [orgId] }, "partner"],
    ["orgIds", { partnerId, orgIds: ["x"] }, "partner"],
    ["siteIds", { siteIds: [siteId] }, "system"],
    ["siteIds", { orgId, siteIds: Array.from({ length: 501 }, () => uuidv7()) }, "organization"],
  ] as const)("name %s when it is bad: %j", (field, change, scope) => {
    const { code, fields } = refusal(() => newUser(root, input(change), role(scope)));
    expect([code, fields]).toEqual(["validation_failed", [field]]);
  });
});
