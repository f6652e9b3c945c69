import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { DeviceGroupService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

const snapshots = (caller = callers.service("agent-release")) => fleet.port.client(SnapshotService, caller);

describe("counted audiences", () => {
  it("have each device once, by its agent's version and all audiences that it is in", async () => {
    const { partnerId, orgId, siteId } = await fleet.tenant();
    const other = await fleet.tenant();
    await fleet.device(orgId, { siteId, agentVersion: "1.0.0", labels: { env: "test", tier: "1" } });
    await fleet.device(orgId, { agentVersion: "1.0.0", labels: { env: "live" } });
    await fleet.device(orgId, { agentVersion: "1.1.0", os: "windows" });
    await fleet.device(other.orgId, { agentVersion: "1.0.0", labels: { env: "test" } });
    const audiences = [
      { partnerIds: [partnerId] },
      { orgIds: [orgId, other.orgId], labels: { env: "test" } },
      { siteIds: [siteId], os: ["windows"] },
      { orgIds: [orgId], os: ["windows"], arch: ["amd64"] },
    ];
    const { groups, unknownIds } = await snapshots().countAudiences({ audiences });
    const found = groups.map(({ agentVersion, audiences: of, devices }) => `${agentVersion} ${of.join()} ${devices}`);
    expect(found.sort()).toEqual(["1.0.0 0 1", "1.0.0 0,1 1", "1.0.0 1 1", "1.1.0 0,3 1"]);
    expect(unknownIds).toEqual([]);
  });

  it("have the devices of one partner alone, and know no id of another's", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const other = await fleet.tenant();
    const groups = fleet.port.client(DeviceGroupService, callers.platformAdmin({ permissions }));
    const group = String((await groups.createDeviceGroup({ orgId: other.orgId, name: "Theirs" })).group?.id);
    for (const each of [orgId, other.orgId])
      await fleet.device(each, { agentVersion: "3.0.0", labels: { ours: "yes" } });
    const foreign = {
      orgIds: [other.orgId],
      siteIds: [other.siteId],
      groupIds: [group],
      partnerIds: [other.partnerId],
    };
    const audiences = [{ labels: { ours: "yes" } }, { ...foreign, labels: { ours: "yes" } }, { orgIds: [orgId] }];
    const reply = await snapshots().countAudiences({ audiences, partnerId });
    expect(reply.groups).toMatchObject([{ agentVersion: "3.0.0", audiences: [0, 2], devices: 1 }]);
    expect([...reply.unknownIds].sort()).toEqual([other.partnerId, other.orgId, other.siteId, group].sort());
    expect(await outcome(snapshots().countAudiences({ audiences, partnerId: "ours" }))).toBe("validation_failed ids");
  });

  it("report ids that name nothing, also of another kind, and are for services alone", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const nothing = uuidv7();
    const audiences = [{ partnerIds: [orgId], groupIds: [nothing] }, { orgIds: [partnerId, orgId] }];
    const { unknownIds } = await snapshots().countAudiences({ audiences });
    expect([...unknownIds].sort()).toEqual([orgId, nothing, partnerId].sort());
    expect(await outcome(snapshots(callers.platformAdmin()).countAudiences({ audiences }))).toBe("scope_not_allowed");
    const many = Array.from({ length: 21 }, () => ({ orgIds: [orgId] }));
    expect(await outcome(snapshots().countAudiences({ audiences: many }))).toBe("validation_failed audiences");
  });
});
