import { describe, expect, it } from "@jest/globals";
import { mayProvision } from "./may-provision.ts";

type By = Parameters<typeof mayProvision>[0];
const owner = { partnerId: "p1", orgId: "o1" };
const role = { scope: "organization", permissions: ["devices:read"], partner_id: null, org_id: null };
const by = (caller: Partial<By["caller"]> = {}, status = "active"): By => ({
  status,
  caller: {
    scope: "organization",
    partnerId: "p1",
    orgId: "o1",
    orgAccess: { mode: "list", orgIds: [] },
    siteIds: null,
    permissions: ["users:write", "devices:read"],
    ...caller,
  },
});

describe("the user who saved a default role", () => {
  it.each<[string, By, object, boolean]>([
    ["holds all of it", by(), {}, true],
    ["is disabled", by({}, "disabled"), {}, false],
    ["may not create users any more", by({ permissions: ["devices:read"] }), {}, false],
    ["lacks a permission that the role has now", by(), { permissions: ["devices:read", "devices:write"] }, false],
    ["is limited to sites", by({ siteIds: ["s1"] }), {}, false],
    ["belongs to another organization", by({ orgId: "o2" }), {}, false],
    [
      "is of the partner, with all organizations",
      by({ scope: "partner", orgId: null, orgAccess: { mode: "all" } }),
      {},
      true,
    ],
    [
      "is of the partner, with this one",
      by({ scope: "partner", orgId: null, orgAccess: { mode: "list", orgIds: ["o1"] } }),
      {},
      true,
    ],
    [
      "is of the partner, with others",
      by({ scope: "partner", orgId: null, orgAccess: { mode: "list", orgIds: ["o2"] } }),
      {},
      false,
    ],
    [
      "is of another partner",
      by({ scope: "partner", partnerId: "p2", orgId: null, orgAccess: { mode: "all" } }),
      {},
      false,
    ],
    ["administers the platform", by({ scope: "system", partnerId: null, orgId: null }), {}, true],
    ["chose a role for partners", by(), { scope: "partner" }, false],
    ["chose another organization's role", by(), { partner_id: "p1", org_id: "o2" }, false],
    ["chose the organization's own role", by(), { partner_id: "p1", org_id: "o1" }, true],
    ["chose the partner's role for organizations", by(), { partner_id: "p1" }, true],
  ])("may have it granted automatically: %s", (_case, user, change, may) => {
    expect(mayProvision(user, { ...role, ...change }, owner)).toBe(may);
  });
});
