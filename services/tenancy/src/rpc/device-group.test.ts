import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet, type Tenant } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(async () => {
  await fleet?.stop();
});

const groups = (caller: Caller) => fleet.port.client(DeviceGroupService, caller);
const devices = (caller: Caller) => fleet.port.client(DeviceService, caller);
const admin = ({ partnerId, orgId }: Tenant) => callers.orgAdmin(partnerId, orgId, { permissions });
const limited = ({ partnerId, orgId }: Tenant, ...siteIds: string[]) =>
  callers.orgAdmin(partnerId, orgId, { permissions, siteIds });
const newGroup = async (tenant: Tenant, change: { siteId?: string } = {}) =>
  (await groups(admin(tenant)).createDeviceGroup({ name: "Group", ...change })).group?.id as string;

describe("device groups", () => {
  it("are created, changed and deleted with one audit row each", async () => {
    const tenant = await fleet.tenant();
    const client = groups(admin(tenant));
    const { group } = await client.createDeviceGroup({ name: "Servers", siteId: tenant.siteId });
    const id = group?.id ?? "";
    expect(group).toMatchObject({ name: "Servers", siteId: tenant.siteId, orgId: tenant.orgId });
    const wanted = { id, updateMask: { paths: ["name", "site_id"] }, group: { name: "All servers", siteId: "" } };
    expect((await client.updateDeviceGroup(wanted)).group).toMatchObject({ name: "All servers", siteId: "" });
    expect((await client.getDeviceGroup({ id })).group?.name).toBe("All servers");
    await client.deleteDeviceGroup({ id });
    expect(await outcome(client.getDeviceGroup({ id }))).toBe("device_group_not_found");
    expect(await outcome(client.deleteDeviceGroup({ id }))).toBe("device_group_not_found");
    const { audits } = await fleet.messagesOf(id);
    expect(audits.map(({ action, detailsJson }) => [action, JSON.parse(detailsJson).changes])).toEqual([
      ["device_group.create", { before: {}, after: { name: "Servers", siteId: tenant.siteId } }],
      [
        "device_group.update",
        { before: { name: "Servers", siteId: tenant.siteId }, after: { name: "All servers", siteId: null } },
      ],
      ["device_group.delete", { before: { name: "All servers", siteId: null }, after: {} }],
    ]);
  });

  it("belong to an organization in scope and to a site of it", async () => {
    const tenant = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const partner = groups(callers.partnerAdmin(tenant.partnerId, { permissions }));
    const attempt = (wanted: object) => outcome(partner.createDeviceGroup({ name: "G", ...wanted }));
    expect(await attempt({})).toBe("organization_context_required");
    expect(await attempt({ orgId: tenant.orgId, siteId: tenant.siteId })).toBe("ok");
    expect(await attempt({ orgId: neighbour.orgId })).toBe("organization_not_found");
    expect(await attempt({ orgId: tenant.orgId, siteId: neighbour.siteId })).toBe("site_not_found");
    expect(await attempt({ orgId: tenant.orgId, name: "" })).toBe("validation_failed name");
    const own = groups(admin(tenant));
    expect(await outcome(own.createDeviceGroup({ name: "G", orgId: neighbour.orgId }))).toBe("organization_not_found");
    const id = await newGroup(tenant);
    const move = { id, updateMask: { paths: ["site_id"] }, group: { siteId: neighbour.siteId } };
    expect(await outcome(own.updateDeviceGroup(move))).toBe("site_not_found");
    expect(await outcome(own.updateDeviceGroup({ id }))).toBe("no_updates");
  });

  it("are listed newest first, by organization and site, to callers with access to them", async () => {
    const tenant = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const first = await newGroup(tenant);
    const second = await newGroup(tenant, { siteId: tenant.siteId });
    const listed = async (caller: Caller, filter: object = {}) =>
      (await groups(caller).listDeviceGroups({ page: { limit: 100 }, ...filter })).groups.map(({ id }) => id);
    expect(await listed(admin(tenant))).toEqual([second, first]);
    expect(await listed(callers.partnerAdmin(tenant.partnerId, { permissions }), { orgId: tenant.orgId })).toHaveLength(
      2,
    );
    expect(await listed(admin(tenant), { siteId: tenant.siteId })).toEqual([second]);
    expect(await listed(limited(tenant, tenant.siteId))).toEqual([second]);
    expect(await listed(limited(tenant))).toEqual([]);
    expect(await listed(admin(neighbour))).toEqual([]);
    for (const caller of [admin(neighbour), limited(tenant, tenant.siteId)]) {
      const client = groups(caller);
      const rename = { id: first, updateMask: { paths: ["name"] }, group: { name: "N" } };
      expect(await outcome(client.getDeviceGroup({ id: first }))).toBe("device_group_not_found");
      expect(await outcome(client.updateDeviceGroup(rename))).toBe("device_group_not_found");
      expect(await outcome(client.deleteDeviceGroup({ id: first }))).toBe("device_group_not_found");
    }
    expect(await outcome(groups(admin(tenant)).listDeviceGroups({ orgId: neighbour.orgId }))).toBe(
      "organization_not_found",
    );
  });

  it("are not accessible to users limited to sites when they span the whole organization", async () => {
    const tenant = await fleet.tenant();
    const client = groups(limited(tenant, tenant.siteId));
    expect(await outcome(client.createDeviceGroup({ name: "G" }))).toBe("site_restricted");
    const { group } = await client.createDeviceGroup({ name: "G", siteId: tenant.siteId });
    const widen = { id: group?.id ?? "", updateMask: { paths: ["site_id"] }, group: { siteId: "" } };
    expect(await outcome(client.updateDeviceGroup(widen))).toBe("site_restricted");
  });

  it("are deleted with their site", async () => {
    const tenant = await fleet.tenant();
    const id = await newGroup(tenant, { siteId: tenant.siteId });
    const deviceId = await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    await groups(admin(tenant)).addDevices({ groupId: id, deviceIds: [deviceId] });
    await fleet.port.client(SiteService, callers.platformAdmin({ permissions })).deleteSite({ id: tenant.siteId });
    expect(await outcome(groups(admin(tenant)).getDeviceGroup({ id }))).toBe("device_group_not_found");
    const { device } = await devices(admin(tenant)).getDevice({ id: deviceId });
    expect(device).toMatchObject({ siteId: "", groupIds: [] });
  });
});

describe("membership", () => {
  it("counts new members only, and emits one event per device and one audit row", async () => {
    const tenant = await fleet.tenant();
    const groupId = await newGroup(tenant);
    const client = groups(admin(tenant));
    const [a, b] = [await fleet.device(tenant.orgId), await fleet.device(tenant.orgId)] as const;
    expect((await client.addDevices({ groupId, deviceIds: [a] })).added).toBe(1);
    expect((await client.addDevices({ groupId, deviceIds: [b, a, a] })).added).toBe(1);
    expect((await client.addDevices({ groupId, deviceIds: [a, b] })).added).toBe(0);
    expect((await devices(admin(tenant)).getDevice({ id: a })).device?.groupIds).toEqual([groupId]);
    const listed = await devices(admin(tenant)).listDevices({ groupId });
    expect(listed.devices.map(({ id }) => id)).toEqual([b, a]);
    expect((await client.removeDevices({ groupId, deviceIds: [a, b] })).removed).toBe(2);
    expect((await client.removeDevices({ groupId, deviceIds: [a] })).removed).toBe(0);
    const { events } = await fleet.messagesOf(a);
    expect(events.map(([, { version, groupIds }]) => [version, groupIds])).toEqual([
      [1n, []],
      [2n, [groupId]],
      [3n, []],
    ]);
    const { audits } = await fleet.messagesOf(groupId);
    expect(audits.slice(1).map(({ action, detailsJson }) => [action, JSON.parse(detailsJson).changes])).toEqual([
      ["device_group.update", { before: { deviceIds: [] }, after: { deviceIds: [a] } }],
      ["device_group.update", { before: { deviceIds: [] }, after: { deviceIds: [b] } }],
      ["device_group.update", { before: { deviceIds: expect.arrayContaining([a, b]) }, after: { deviceIds: [] } }],
    ]);
  });

  it("accepts only devices in use of the same organization, all or none", async () => {
    const tenant = await fleet.tenant();
    const sibling = await fleet.organization(tenant.partnerId);
    const partner = callers.partnerAdmin(tenant.partnerId, { permissions });
    const groupId = await newGroup(tenant);
    const [good, gone, foreign] = [
      await fleet.device(tenant.orgId),
      await fleet.device(tenant.orgId),
      await fleet.device(sibling),
    ] as const;
    await devices(partner).decommissionDevice({ id: gone });
    const add = (...deviceIds: string[]) => outcome(groups(partner).addDevices({ groupId, deviceIds }));
    expect(await add(good, foreign)).toBe("device_not_found");
    expect(await add(good, uuidv7())).toBe("device_not_found");
    expect(await add(good, gone)).toBe("device_decommissioned");
    expect(await add()).toBe("validation_failed deviceIds");
    expect(await add("x")).toBe("validation_failed deviceIds.0");
    expect((await devices(partner).listDevices({ groupId })).devices).toEqual([]);
    expect(await outcome(groups(partner).addDevices({ groupId: uuidv7(), deviceIds: [good] }))).toBe(
      "device_group_not_found",
    );
  });

  it("shows users limited to sites only the groups of their sites, and the events name all groups", async () => {
    const tenant = await fleet.tenant();
    const wide = await newGroup(tenant);
    const near = await newGroup(tenant, { siteId: tenant.siteId });
    const id = await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    const outside = await fleet.device(tenant.orgId);
    await groups(admin(tenant)).addDevices({ groupId: wide, deviceIds: [id] });
    const limitedUser = limited(tenant, tenant.siteId);
    expect(await outcome(groups(limitedUser).addDevices({ groupId: near, deviceIds: [outside] }))).toBe(
      "device_not_found",
    );
    expect(await outcome(groups(limitedUser).addDevices({ groupId: wide, deviceIds: [id] }))).toBe(
      "device_group_not_found",
    );
    expect((await groups(limitedUser).addDevices({ groupId: near, deviceIds: [id] })).added).toBe(1);
    expect((await devices(limitedUser).getDevice({ id })).device?.groupIds).toEqual([near]);
    expect(await outcome(devices(limitedUser).listDevices({ groupId: wide }))).toBe("device_group_not_found");
    const { events } = await fleet.messagesOf(id);
    expect(events.at(-1)?.[1].groupIds).toEqual([wide, near].sort());
  });

  it("is consistent after twenty concurrent calls with a deletion of the group among them", async () => {
    const tenant = await fleet.tenant();
    const groupId = await newGroup(tenant);
    const ids = await Promise.all(Array.from({ length: 6 }, () => fleet.device(tenant.orgId)));
    const client = groups(admin(tenant));
    const calls = Array.from({ length: 20 }, (_, i) => {
      const deviceIds = i % 2 ? ids : [...ids].reverse();
      if (i === 15) return client.deleteDeviceGroup({ id: groupId });
      return i % 3 === 2 ? client.removeDevices({ groupId, deviceIds }) : client.addDevices({ groupId, deviceIds });
    });
    const answers = new Set(await Promise.all(calls.map((call) => outcome(call))));
    answers.delete("device_group_not_found");
    expect([...answers]).toEqual(["ok"]);
    for (const id of ids) expect((await devices(admin(tenant)).getDevice({ id })).device?.groupIds).toEqual([]);
  });
});
