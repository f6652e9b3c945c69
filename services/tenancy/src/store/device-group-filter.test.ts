import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callers } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stop());

/** A group, the given number of devices in it, oldest first, and as many of its organization that are in no group. */
async function grouped(members: number) {
  const { partnerId, orgId, siteId } = await fleet.tenant();
  const admin = callers.orgAdmin(partnerId, orgId, { permissions });
  const groups = fleet.port.client(DeviceGroupService, admin);
  const { group } = await groups.createDeviceGroup({ orgId, name: "All" });
  await fleet.database.db.tx({ caller: systemCaller("tenancy") }, async (tx) => {
    await tx.execute(sql`
      INSERT INTO devices (id, org_id, partner_id, site_id, hostname, os, arch, agent_version, status, created_at, updated_at)
      SELECT gen_random_uuid(), ${orgId}::uuid, ${partnerId}::uuid, CASE WHEN i % 4 = 0 THEN ${siteId}::uuid END,
             CASE WHEN i % 2 = 0 THEN 'in-' ELSE 'out-' END || i / 2, 'linux', 'amd64', '1.0.0',
             CASE WHEN i < 6 THEN 'offline' ELSE 'online' END, now() + i * interval '1 second', now()
      FROM generate_series(2, ${members * 2 + 1}::int) AS i`);
    await tx.execute(sql`
      INSERT INTO device_group_members (group_id, device_id, org_id, partner_id, added_at)
      SELECT ${group?.id ?? ""}::uuid, id, org_id, partner_id, now() FROM devices
      WHERE org_id = ${orgId}::uuid AND hostname LIKE 'in-%'`);
  });
  const limited = callers.orgAdmin(partnerId, orgId, { permissions, siteIds: [siteId] });
  return { groupId: group?.id ?? "", orgId, siteId, admin, limited };
}

describe.each([
  ["small", 10],
  ["large", 5_001],
])("the list of a %s group", (_size, members) => {
  it("has its devices, newest first, page by page, with the other filters applied", async () => {
    const { groupId, siteId, admin, limited } = await grouped(members);
    const devices = fleet.port.client(DeviceService, admin);
    const first = await devices.listDevices({ groupId, page: { limit: 3 } });
    expect(first.page?.total).toBe(BigInt(members));
    const second = await devices.listDevices({ groupId, page: { limit: 3, cursor: first.page?.nextCursor ?? "" } });
    const names = [...first.devices, ...second.devices].map(({ hostname }) => hostname);
    expect(names).toEqual(Array.from({ length: 6 }, (_, i) => `in-${members - i}`));
    const offline = await devices.listDevices({ groupId, status: "offline" });
    expect(offline.devices.map(({ hostname }) => hostname)).toEqual(["in-2", "in-1"]);
    const sorted = await devices.listDevices({ groupId, sort: "hostname", page: { limit: 2 } });
    expect(sorted.devices.map(({ hostname }) => hostname)).toEqual(["in-1", "in-10"]);
    const atSite = await devices.listDevices({ groupId, siteId, page: { limit: 1 } });
    expect(atSite.page?.total).toBe(BigInt(Math.floor(members / 2)));
    const { counts } = await devices.countDevices({ groupId });
    expect(counts.filter(({ count }) => count > 0n)).toMatchObject([
      { status: "online", count: BigInt(members - 2) },
      { status: "offline", count: 2n },
    ]);
    const hidden = fleet.port.client(DeviceService, limited).listDevices({ groupId });
    await expect(hidden).rejects.toThrow("Device group not found");
  });
});
