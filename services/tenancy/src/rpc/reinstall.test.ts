import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

const root = () => fleet.port.client(DeviceService, callers.platformAdmin({ permissions }));
const stateOf = async (id: string) => (await root().getDevice({ id })).device;
const setStatus = (id: string, status: string) =>
  fleet.database.db.tx({ caller: systemCaller("tenancy") }, (tx) =>
    tx.execute(sql`UPDATE devices SET status = ${status} WHERE id = ${id}::uuid`),
  );

/** A machine that is enrolled in a site and a group, and has a name that people gave. */
async function enrolled(cap?: number) {
  const tenant = await fleet.tenant(cap === undefined ? {} : { organization: cap });
  const { orgId, siteId, partnerId } = tenant;
  const hardwareId = uuidv7();
  const id = await fleet.device(orgId, { hardwareId, siteId, hostname: "web-1", labels: { role: "web", room: "1" } });
  const admin = callers.orgAdmin(partnerId, orgId, { permissions });
  const groups = fleet.port.client(DeviceGroupService, admin);
  const { group } = await groups.createDeviceGroup({ orgId, name: "Web" });
  const groupId = group?.id ?? "";
  await groups.addDevices({ groupId, deviceIds: [id] });
  const paths = ["hostname", "auto_update_enabled"];
  await root().updateDevice({ id, updateMask: { paths }, device: { hostname: "Reception", autoUpdateEnabled: false } });
  const again = (change: object = {}) =>
    fleet.createDevice(orgId, { hardwareId, hostname: "web-1", labels: { room: "2" }, ...change });
  return { ...tenant, id, groupId, again };
}

const assignment = ({ siteId, groupId }: { siteId: string; groupId: string }) => ({
  ...{ siteId, groupIds: [groupId], hostname: "Reception", autoUpdateEnabled: false },
  labels: { role: "web", room: "2" },
});

describe("a machine that enrolls again", () => {
  it.each(["", "quarantine"])("is quarantined when its key says %j", async (reinstall) => {
    const machine = await enrolled();
    const { device } = await machine.again({ reinstall });
    expect(device).toMatchObject({ status: "quarantined", quarantineReason: expect.stringContaining(machine.id) });
    expect(await stateOf(machine.id)).toMatchObject({ status: "offline" });
  });

  it("takes the place of its offline record, which is decommissioned, when its key says replace", async () => {
    const machine = await enrolled(1);
    const { device } = await machine.again({ reinstall: "replace" });
    const id = device?.id ?? "";
    expect(device).toMatchObject({ status: "offline", quarantineReason: "", ...assignment(machine) });
    expect(await stateOf(machine.id)).toMatchObject({ status: "decommissioned" });
    const { audits, events } = await fleet.messagesOf(machine.id);
    expect(events.at(-1)?.[0]).toBe("tenancy.device.decommissioned");
    expect(JSON.parse(audits.at(-1)?.detailsJson ?? "{}").replacedBy).toBe(id);
    const made = (await fleet.messagesOf(id)).audits[0];
    expect([made?.action, JSON.parse(made?.detailsJson ?? "{}").replaces]).toEqual(["device.create", machine.id]);
    expect((await fleet.messagesOf(id)).events.map(([, { groupIds, siteId }]) => [groupIds, siteId])).toEqual([
      [[machine.groupId], machine.siteId],
    ]);
    // The organization's only device: the limit of one holds after it, too.
    expect(await outcome(fleet.createDevice(machine.orgId))).toBe("limit_reached");
  });

  it("is another device when its key says new", async () => {
    const machine = await enrolled();
    const { device } = await machine.again({ reinstall: "new" });
    expect(device).toMatchObject({ status: "offline", hostname: "web-1", groupIds: [], siteId: "" });
    expect(await stateOf(machine.id)).toMatchObject({ status: "offline", hostname: "Reception" });
  });

  it.each(["replace", "new"])(
    "is quarantined while its record is not offline, also when its key says %s",
    async (reinstall) => {
      for (const status of ["online", "updating"]) {
        const machine = await enrolled();
        await setStatus(machine.id, status);
        expect((await machine.again({ reinstall })).device).toMatchObject({ status: "quarantined" });
        expect(await stateOf(machine.id)).toMatchObject({ status });
      }
    },
  );

  it("replaces its record once, however many enroll concurrently", async () => {
    const machine = await enrolled();
    const made = await Promise.all(Array.from({ length: 6 }, () => machine.again({ reinstall: "replace" })));
    const statuses = await Promise.all(made.map(async ({ device }) => (await stateOf(device?.id ?? ""))?.status));
    expect(statuses.filter((status) => status === "offline")).toHaveLength(1);
    expect(statuses.filter((status) => status === "decommissioned")).toHaveLength(5);
    expect(await outcome(machine.again({ reinstall: "overwrite" }))).toBe("validation_failed reinstall");
  });
});

describe("a quarantined device", () => {
  it("is merged: it takes the place of the device that has its hardware id", async () => {
    const machine = await enrolled();
    await setStatus(machine.id, "online");
    const id = (await machine.again()).device?.id ?? "";
    const { device } = await root().approveDevice({ id, merge: true });
    expect(device).toMatchObject({ status: "offline", ...assignment(machine) });
    expect(await stateOf(machine.id)).toMatchObject({ status: "decommissioned" });
  });

  it("is rejected once, and only while it is quarantined", async () => {
    const machine = await enrolled();
    const id = (await machine.again()).device?.id ?? "";
    const viewer = callers.orgAdmin(machine.partnerId, machine.orgId, {
      permissions: ["devices:read", "devices:write"],
    });
    const writer = fleet.port.client(DeviceService, viewer);
    expect(await outcome(writer.rejectDevice({ id }))).toBe("permission_denied");
    expect(await outcome(writer.approveDevice({ id, merge: true }))).toBe("permission_denied");
    expect(await outcome(root().rejectDevice({ id }))).toBe("ok");
    expect(await stateOf(id)).toMatchObject({ status: "decommissioned" });
    expect(await outcome(root().rejectDevice({ id }))).toBe("device_decommissioned");
    expect(await outcome(root().rejectDevice({ id: machine.id }))).toBe("device_not_quarantined");
    expect(await outcome(root().rejectDevice({ id: uuidv7() }))).toBe("device_not_found");
    const { audits } = await fleet.messagesOf(id);
    expect(JSON.parse(audits.at(-1)?.detailsJson ?? "{}").reason).toBe("rejected");
  });
});
