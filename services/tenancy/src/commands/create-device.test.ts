import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { toAppError } from "@muster/rpc";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(async () => {
  await fleet?.stop();
});

const devicesOf = async (orgId: string) => {
  const [row] = await fleet.database.db.read<{ n: number; counted: number }>(
    { caller: systemCaller("tenancy") },
    sql`SELECT count(*) AS n, (SELECT coalesce(sum(living), 0)::int FROM device_counts WHERE org_id = ${orgId}) AS counted
        FROM devices WHERE org_id = ${orgId} AND status <> 'decommissioned'`,
  );
  return [row?.n, row?.counted];
};

const root = () => fleet.port.client(OrganizationService, callers.platformAdmin({ permissions }));

describe("creating a device", () => {
  it("returns the record, with one event and one audit row", async () => {
    const { partnerId, orgId, siteId } = await fleet.tenant();
    const id = uuidv7();
    const { device } = await fleet.createDevice(orgId, { id, siteId, hostname: "WS-1", hardwareId: "hw-1" });
    const expected = { id, orgId, partnerId, siteId, hostname: "WS-1", status: "offline", autoUpdateEnabled: true };
    expect(device).toMatchObject({ ...expected, groupIds: [], lastIpAddress: "" });
    const { events, audits } = await fleet.messagesOf(id);
    expect(events).toEqual([["tenancy.device.created", expect.objectContaining({ id, version: 1n, siteId, orgId })]]);
    expect(audits).toHaveLength(1);
    expect(audits[0]).toMatchObject({ action: "device.create", actorId: "identity", chainId: orgId, partnerId });
    expect(JSON.parse(audits[0]?.detailsJson ?? "").changes.after).toMatchObject({
      hostname: "WS-1",
      hardwareId: "hw-1",
    });
  });

  it("returns the first device when repeated, also twenty times concurrently, and writes nothing more", async () => {
    const { orgId } = await fleet.tenant({ organization: 1 });
    const id = uuidv7();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => fleet.createDevice(orgId, { id, hostname: `H${i}` }, fleet.ports[i % 2])),
    );
    expect(new Set(answers.map(({ device }) => device?.hostname)).size).toBe(1);
    expect(await devicesOf(orgId)).toEqual([1, 1]);
    const { events, audits } = await fleet.messagesOf(id);
    expect([events.length, audits.length]).toEqual([1, 1]);
  });

  it("holds an organization's cap of 3 and its partner's of 5 under 50 parallel creations on two processes", async () => {
    const { partnerId, orgId: first } = await fleet.tenant({ partner: 5, organization: 3 });
    const second = await fleet.organization(partnerId);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        fleet.createDevice(i % 4 < 2 ? first : second, {}, fleet.ports[i % 2]).then(
          () => ({ code: "ok", facts: {} }),
          (error: unknown) => toAppError(error),
        ),
      ),
    );
    expect(answers.filter(({ code }) => code === "ok")).toHaveLength(5);
    expect(answers.filter(({ code }) => code === "limit_reached")).toHaveLength(45);
    const limits = new Set(answers.filter(({ code }) => code !== "ok").map(({ facts }) => JSON.stringify(facts)));
    for (const text of limits) {
      expect(['{"limit":3,"limitOf":"organization"}', '{"limit":5,"limitOf":"partner"}']).toContain(text);
    }
    const [inFirst, countedFirst] = await devicesOf(first);
    const [inSecond, countedSecond] = await devicesOf(second);
    expect([inFirst, inSecond]).toEqual([countedFirst, countedSecond]);
    expect(inFirst).toBeLessThanOrEqual(3);
    expect((inFirst ?? 0) + (inSecond ?? 0)).toBe(5);
  });

  it("allows another device when one is decommissioned or its organization deleted", async () => {
    const { partnerId, orgId } = await fleet.tenant({ partner: 2 });
    const other = await fleet.organization(partnerId);
    const id = await fleet.device(orgId);
    await fleet.device(other);
    expect(await outcome(fleet.createDevice(orgId))).toBe("limit_reached");
    await fleet.port.client(DeviceService, callers.partnerAdmin(partnerId, { permissions })).decommissionDevice({ id });
    expect(await outcome(fleet.createDevice(orgId))).toBe("ok");
    expect(await outcome(fleet.createDevice(orgId))).toBe("limit_reached");
    await root().deleteOrganization({ id: other });
    expect(await outcome(fleet.createDevice(orgId))).toBe("ok");
  });

  it.each([
    ["in another case", "BOARD-7A", "board-7a"],
    ["with spaces around it", "board-7b", "  board-7b\n"],
    ["as a UUID in braces", "{4C4C4544-0042-3510-8052-B3C04F564D31}", "4c4c4544-0042-3510-8052-b3c04f564d31"],
    ["as a UUID without dashes", "4c4c4544004235108052b3c04f564d32", "urn:uuid:4C4C4544-0042-3510-8052-B3C04F564D32"],
  ])("detects a clone by its hardware id %s", async (_how, first, second) => {
    const { orgId } = await fleet.tenant();
    expect((await fleet.createDevice(orgId, { hardwareId: first })).device?.status).toBe("offline");
    expect((await fleet.createDevice(orgId, { hardwareId: second })).device?.status).toBe("quarantined");
  });

  it.each([
    "To Be Filled By O.E.M.",
    "Default string",
    "00000000-0000-0000-0000-000000000000",
    "{FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF}",
    "03000200-0400-0500-0006-000700080009",
    "None",
    "N/A",
    "0000000000",
    "System Serial Number",
    "   ",
  ])("detects no clone by %j, which any board may report", async (hardwareId) => {
    const { orgId } = await fleet.tenant();
    const devices = await Promise.all([1, 2, 3].map(() => fleet.createDevice(orgId, { hardwareId })));
    expect(devices.map(({ device }) => device?.status)).toEqual(["offline", "offline", "offline"]);
  });

  it("distinguishes ids that differ by more than their spelling", async () => {
    const { orgId } = await fleet.tenant();
    for (const hardwareId of ["VMware-56 4d 01", "VMware-56 4d 02", "SN-11111112", "a", "b", "aaaa", "aa1"]) {
      expect((await fleet.createDevice(orgId, { hardwareId })).device?.status).toBe("offline");
    }
  });

  it("quarantines a clone of a device in use and does not change that device", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const hardwareId = "board-7";
    const first = await fleet.device(orgId, { hardwareId });
    const clones = await Promise.all([1, 2].map(() => fleet.createDevice(orgId, { hardwareId })));
    expect(clones.map(({ device }) => device?.status)).toEqual(["quarantined", "quarantined"]);
    const admin = fleet.port.client(DeviceService, callers.partnerAdmin(partnerId, { permissions }));
    expect((await admin.getDevice({ id: first })).device?.status).toBe("offline");
    await admin.decommissionDevice({ id: first });
    expect((await fleet.createDevice(orgId, { hardwareId })).device?.status).toBe("offline");
    const elsewhere = await fleet.organization(partnerId);
    expect((await fleet.createDevice(elsewhere, { hardwareId })).device?.status).toBe("offline");
  });

  it("needs an organization that is not deleted, and a site of it", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const neighbour = await fleet.tenant();
    expect(await outcome(fleet.createDevice(uuidv7()))).toBe("organization_not_found");
    expect(await outcome(fleet.createDevice(orgId, { siteId: uuidv7() }))).toBe("site_not_found");
    expect(await outcome(fleet.createDevice(orgId, { siteId: neighbour.siteId }))).toBe("site_not_found");
    expect(await outcome(fleet.createDevice(orgId, { os: "beos" }))).toBe("validation_failed os");
    const id = await fleet.device(orgId);
    expect(await outcome(fleet.createDevice(neighbour.orgId, { id }))).toBe("validation_failed id");
    await root().updateOrganization({
      id: orgId,
      updateMask: { paths: ["status"] },
      organization: { status: "churned" },
    });
    expect(await outcome(fleet.createDevice(orgId))).toBe("organization_inactive");
    expect((await fleet.createDevice(orgId, { id })).device?.id).toBe(id);
    const gone = await fleet.organization(partnerId);
    await root().deleteOrganization({ id: gone });
    expect(await outcome(fleet.createDevice(gone))).toBe("organization_not_found");
    expect(await devicesOf(orgId)).toEqual([1, 1]);
  });

  it("is for enrollment only", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const wanted = { id: uuidv7(), orgId, hostname: "H", os: "linux", arch: "386", agentVersion: "1" };
    const others = [
      callers.platformAdmin({ permissions }),
      callers.partnerAdmin(partnerId, { permissions }),
      callers.orgAdmin(partnerId, orgId, { permissions }),
      callers.service("gateway"),
      callers.service("audit"),
    ];
    for (const caller of others) {
      const call = fleet.port.client(DeviceService, caller).createDevice(wanted);
      expect(await outcome(call)).toBe("permission_denied");
    }
    expect(await devicesOf(orgId)).toEqual([0, 0]);
  });
});
