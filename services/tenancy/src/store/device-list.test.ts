import { describe, expect, it } from "@jest/globals";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { type DeviceFilter, isInOrder } from "./device-list.ts";

const [partnerId, orgId, siteId] = [uuidv7(), uuidv7(), uuidv7()];
const everything: DeviceFilter = {
  orgId: "",
  siteId: "",
  groupId: "",
  statuses: [],
  os: "",
  arch: "",
  agentVersionRange: "",
  updateState: "",
  hardwareId: "",
  serialNumber: "",
  address: "",
  agentVersion: "",
  label: null,
  seenAfter: null,
  seenBefore: null,
  search: "",
  enrollmentKeyId: "",
  sort: null,
};
const organization = callers.orgAdmin(partnerId, orgId);
const partner = callers.partnerAdmin(partnerId);
const someOf = callers.partnerAdmin(partnerId, { orgAccess: { mode: "list", orgIds: [orgId] } });
const ofSites = callers.orgAdmin(partnerId, orgId, { siteIds: [siteId] });

describe("whether a list of devices is read in the order of an index", () => {
  it.each<[string, Caller, Partial<DeviceFilter>, boolean]>([
    ["of the platform", systemCaller("tenancy"), {}, true],
    ["of a partner", partner, {}, true],
    ["of an organization", organization, {}, true],
    ["of an organization of a partner", partner, { orgId }, true],
    ["of a granted organization", someOf, { orgId }, true],
    ["of several granted organizations", someOf, {}, false],
    ["of a site", partner, { siteId }, true],
    ["of several sites", ofSites, {}, false],
    ["of one status of an organization", organization, { statuses: ["offline"] }, true],
    ["of one status of a partner", partner, { statuses: ["offline"] }, false],
    ["of a partner's fleet", partner, { statuses: ["online", "offline", "updating", "quarantined"] }, true],
    ["of an organization's fleet", organization, { statuses: ["online", "offline", "updating", "quarantined"] }, true],
    ["of two statuses", organization, { statuses: ["offline", "quarantined"] }, false],
    ["of a host name", organization, { search: "web" }, true],
    ["of a group", organization, { groupId: uuidv7() }, false],
    ["of a version", organization, { agentVersion: "1.4.2" }, false],
    ["of a range of versions", organization, { agentVersionRange: "<2" }, false],
    ["behind their target", organization, { updateState: "behind" }, true],
    ["of a partner whose update failed", partner, { updateState: "failed" }, true],
    ["of the platform whose update failed", systemCaller("tenancy"), { updateState: "failed" }, false],
    ["of a site whose update failed", partner, { siteId, updateState: "failed" }, false],
    ["of one status whose update failed", organization, { statuses: ["online"], updateState: "failed" }, false],
    ["that run what they should", organization, { updateState: "current" }, false],
    ["of a network", organization, { address: "10.0.0.0/8" }, false],
    ["not seen since", organization, { seenBefore: new Date() }, false],
    ["of an enrollment key", organization, { enrollmentKeyId: uuidv7() }, false],
    ["by host name", organization, { sort: "hostname" }, false],
  ])("is right for devices %s", (_what, caller, filter, isWalked) => {
    expect(isInOrder(caller, { ...everything, ...filter })).toBe(isWalked);
  });
});
