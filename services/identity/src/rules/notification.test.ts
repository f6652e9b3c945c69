import { describe, expect, it } from "@jest/globals";
import { mayRead } from "./notification.ts";

const [orgId, otherOrg, partnerId, otherPartner] = ["o", "p", "q", "r"];
const user = {
  status: "active",
  permissions: ["audit:read"],
  scope: "organization" as "organization" | "partner" | "system",
  partner_id: partnerId as string | null,
  org_id: orgId as string | null,
  org_access: "none",
  org_ids: [] as string[],
  site_restricted: false,
  partner_status: "active" as string | null,
  org_status: "active" as string | null,
};
const ofPartner = { ...user, scope: "partner" as const, org_id: null, org_status: null, org_access: "all" };
const ofSystem = { ...ofPartner, scope: "system" as const, partner_id: null, partner_status: null };
const inOrg = { permission: "audit:read", orgId, partnerId };
const inOther = { ...inOrg, orgId: otherOrg };
const inPartner = { ...inOrg, orgId: null };
const inPlatform = { ...inPartner, partnerId: null };

describe("a user", () => {
  it.each([
    ["of the organization", user, inOrg, true],
    ["of a trial organization", { ...user, org_status: "trial" }, inOrg, true],
    ["without the permission", { ...user, permissions: ["devices:read"] }, inOrg, false],
    ["who is disabled", { ...user, status: "disabled" }, inOrg, false],
    ["limited to sites", { ...user, site_restricted: true }, inOrg, false],
    ["of a suspended organization", { ...user, org_status: "suspended" }, inOrg, false],
    ["of a deleted organization", { ...user, org_status: "deleted" }, inOrg, false],
    ["of a suspended partner", { ...user, partner_status: "suspended" }, inOrg, false],
    ["of another organization", user, inOther, false],
    ["of the organization, about its partner", user, inPartner, false],
    ["of the organization, about the platform", user, inPlatform, false],
    ["of the partner", ofPartner, inOrg, true],
    ["of the partner, about itself", ofPartner, inPartner, true],
    ["of the partner with this organization", { ...ofPartner, org_access: "selected", org_ids: [orgId] }, inOrg, true],
    ["of the partner with another one", { ...ofPartner, org_access: "selected", org_ids: [otherOrg] }, inOrg, false],
    ["of another partner", { ...ofPartner, partner_id: otherPartner }, inOrg, false],
    ["of the partner, about the platform", ofPartner, inPlatform, false],
    ["of the platform", ofSystem, inOrg, true],
    ["of the platform, about itself", ofSystem, inPlatform, true],
  ])("%s is notified of what they may read, and of nothing else", (_who, reader, about, expected) => {
    expect(mayRead(reader, about)).toBe(expected);
  });
});
