import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, encodeCursor, systemCaller, uuidv7 } from "@muster/kit";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callers, outcome } from "@muster/testing";
import { removeSites } from "../jobs/site-removals.ts";
import { type Fleet, permissions, startFleet, type Tenant } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(async () => {
  await fleet?.stop();
});

const as = (caller: Caller) => fleet.port.client(DeviceService, caller);
const admin = ({ partnerId, orgId }: Tenant) => callers.orgAdmin(partnerId, orgId, { permissions });
const limited = ({ partnerId, orgId }: Tenant, ...siteIds: string[]) =>
  callers.orgAdmin(partnerId, orgId, { permissions, siteIds });
const idsOf = ({ devices }: { devices: { id: string }[] }) => devices.map(({ id }) => id);

describe("changing a device", () => {
  it("writes the masked fields, with one event and one audit row", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId, { siteId: tenant.siteId, hostname: "OLD" });
    const { device } = await as(admin(tenant)).updateDevice({
      id,
      updateMask: { paths: ["hostname", "auto_update_enabled", "site_id"] },
      device: { hostname: "NEW", autoUpdateEnabled: false, siteId: "", orgId: uuidv7() },
    });
    expect(device).toMatchObject({ hostname: "NEW", autoUpdateEnabled: false, siteId: "", orgId: tenant.orgId });
    expect((await as(admin(tenant)).getDevice({ id })).device).toEqual(device);
    const { events, audits } = await fleet.messagesOf(id);
    expect(events[1]).toEqual(["tenancy.device.updated", expect.objectContaining({ version: 2n, siteId: "" })]);
    expect(audits.map(({ action }) => action)).toEqual(["device.create", "device.update"]);
    expect(JSON.parse(audits[1]?.detailsJson ?? "")).toEqual({
      changedFields: ["siteId", "hostname", "autoUpdateEnabled"],
      changes: {
        before: { siteId: tenant.siteId, hostname: "OLD", autoUpdateEnabled: true },
        after: { siteId: null, hostname: "NEW", autoUpdateEnabled: false },
      },
    });
  });

  it("moves it within its organization only", async () => {
    const tenant = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const id = await fleet.device(tenant.orgId);
    const move = (siteId: string, caller: Caller = callers.platformAdmin({ permissions })) =>
      outcome(as(caller).updateDevice({ id, updateMask: { paths: ["site_id"] }, device: { siteId } }));
    expect(await move(neighbour.siteId)).toBe("site_not_found");
    expect(await move(uuidv7())).toBe("site_not_found");
    expect(await move("x")).toBe("validation_failed siteId");
    expect(await move(tenant.siteId, admin(tenant))).toBe("ok");
  });

  it("is refused without a known field", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId);
    expect(await outcome(as(admin(tenant)).updateDevice({ id }))).toBe("no_updates");
    const unknown = { id, updateMask: { paths: ["status", "org_id"] }, device: { status: "online" } };
    expect(await outcome(as(admin(tenant)).updateDevice(unknown))).toBe("no_updates");
  });
});

describe("decommissioning a device", () => {
  it("keeps the record, happens once, and later writes are refused", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId);
    for (let i = 0; i < 2; i++) expect(await outcome(as(admin(tenant)).decommissionDevice({ id }))).toBe("ok");
    expect((await as(admin(tenant)).getDevice({ id })).device?.status).toBe("decommissioned");
    const { events, audits } = await fleet.messagesOf(id);
    expect(events.map(([subject]) => subject)).toEqual(["tenancy.device.created", "tenancy.device.decommissioned"]);
    expect(audits.map(({ action }) => action)).toEqual(["device.create", "device.delete"]);
    expect(JSON.parse(audits[1]?.detailsJson ?? "").changes).toEqual({
      before: { status: "offline" },
      after: { status: "decommissioned" },
    });
    const update = { id, updateMask: { paths: ["hostname"] }, device: { hostname: "X" } };
    expect(await outcome(as(admin(tenant)).updateDevice(update))).toBe("device_decommissioned");
  });
});

describe("a device", () => {
  it("is visible to all callers above it and to no caller beside it", async () => {
    const tenant = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const sibling = await fleet.organization(tenant.partnerId);
    const id = await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    const siteless = await fleet.device(tenant.orgId);
    const otherSite = await fleet.site(tenant.orgId);
    const actors: [string, Caller, string[]][] = [
      ["system", callers.platformAdmin({ permissions }), [siteless, id]],
      ["partner", callers.partnerAdmin(tenant.partnerId, { permissions }), [siteless, id]],
      ["partner, listed", callers.partnerWithList(tenant.partnerId, [tenant.orgId], { permissions }), [siteless, id]],
      ["organization", admin(tenant), [siteless, id]],
      ["its site", limited(tenant, tenant.siteId), [id]],
      ["another site", limited(tenant, otherSite), []],
      ["no site", limited(tenant), []],
      ["partner, other list", callers.partnerWithList(tenant.partnerId, [sibling], { permissions }), []],
      ["partner, empty list", callers.partnerWithList(tenant.partnerId, [], { permissions }), []],
      ["sibling organization", callers.orgAdmin(tenant.partnerId, sibling, { permissions }), []],
      ["other partner", callers.partnerAdmin(neighbour.partnerId, { permissions }), []],
      ["other organization", admin(neighbour), []],
    ];
    for (const [who, caller, expected] of actors) {
      const listed = await as(caller).listDevices({ page: { limit: 100 } });
      const ours = idsOf(listed).filter((each) => each === id || each === siteless);
      expect([who, ours]).toEqual([who, expected]);
      for (const each of [id, siteless]) {
        const allowed = expected.includes(each) ? "ok" : "device_not_found";
        const calls = {
          get: as(caller).getDevice({ id: each }),
          patch: as(caller).updateDevice({ id: each, updateMask: { paths: ["hostname"] }, device: { hostname: "H" } }),
        };
        for (const [name, call] of Object.entries(calls))
          expect([who, name, await outcome(call)]).toEqual([who, name, allowed]);
        if (!expected.includes(each)) {
          expect([who, await outcome(as(caller).decommissionDevice({ id: each }))]).toEqual([who, "device_not_found"]);
        }
      }
    }
    const nobody = await fleet.database.db.read(
      { caller: null },
      sql`
      SELECT id FROM devices UNION ALL SELECT id FROM device_groups UNION ALL SELECT group_id FROM device_group_members
      UNION ALL SELECT org_id FROM device_counts`,
    );
    expect(nobody).toEqual([]);
  });

  it("is not visible through widened filters of users limited to sites", async () => {
    const tenant = await fleet.tenant();
    const otherSite = await fleet.site(tenant.orgId);
    const id = await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    const move = (siteId: string) =>
      as(limited(tenant, tenant.siteId)).updateDevice({ id, updateMask: { paths: ["site_id"] }, device: { siteId } });
    expect(await outcome(move(""))).toBe("site_restricted");
    expect(await outcome(move(otherSite))).toBe("site_not_found");
    expect(await outcome(move(tenant.siteId))).toBe("ok");
  });

  it("is visible to the system only once the organization is deleted", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId);
    const root = callers.platformAdmin({ permissions });
    await fleet.port.client(OrganizationService, root).deleteOrganization({ id: tenant.orgId });
    const partner = as(callers.partnerAdmin(tenant.partnerId, { permissions }));
    expect(await outcome(partner.getDevice({ id }))).toBe("device_not_found");
    expect(idsOf(await partner.listDevices({}))).toEqual([]);
    expect(await outcome(partner.listDevices({ orgId: tenant.orgId }))).toBe("organization_not_found");
    expect(idsOf(await as(root).listDevices({ orgId: tenant.orgId }))).toEqual([id]);
  });

  it("needs the permission of each method", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId);
    const viewer = as(callers.orgAdmin(tenant.partnerId, tenant.orgId, { permissions: ["devices:read"] }));
    expect(await outcome(viewer.getDevice({ id }))).toBe("ok");
    const update = { id, updateMask: { paths: ["hostname"] }, device: { hostname: "H" } };
    expect(await outcome(viewer.updateDevice(update))).toBe("permission_denied");
    const writer = as(callers.orgAdmin(tenant.partnerId, tenant.orgId, { permissions: ["devices:write"] }));
    expect(await outcome(writer.decommissionDevice({ id }))).toBe("permission_denied");
    expect(await outcome(writer.getDevice({ id }))).toBe("permission_denied");
    expect(await outcome(writer.listDevices({}))).toBe("permission_denied");
  });
});

describe("listing devices", () => {
  it("filters by organization, site, status and host name", async () => {
    const tenant = await fleet.tenant();
    const partner = as(callers.partnerAdmin(tenant.partnerId, { permissions }));
    const other = await fleet.organization(tenant.partnerId);
    const a = await fleet.device(tenant.orgId, { hostname: "Web-100%", siteId: tenant.siteId });
    const b = await fleet.device(tenant.orgId, { hostname: "db_1" });
    const c = await fleet.device(other, { hostname: "WEB-2" });
    await partner.decommissionDevice({ id: b });
    const found = async (filter: object) => idsOf(await partner.listDevices(filter));
    expect(await found({})).toEqual([c, b, a]);
    expect(await found({ orgId: tenant.orgId })).toEqual([b, a]);
    expect(await found({ siteId: tenant.siteId })).toEqual([a]);
    expect(await found({ status: "decommissioned" })).toEqual([b]);
    expect(await found({ search: "web" })).toEqual([c, a]);
    expect(await found({ search: "0%" })).toEqual([a]);
    expect(await found({ search: "%" })).toEqual([a]);
    expect(await found({ search: "_" })).toEqual([b]);
    expect(await found({ search: "web", orgId: other, status: "offline" })).toEqual([c]);
    expect(await found({ statuses: ["decommissioned", "offline"], orgId: tenant.orgId })).toEqual([b, a]);
    expect(await found({ statuses: ["online", "updating"] })).toEqual([]);
    const elsewhere = await fleet.tenant();
    expect(await outcome(partner.listDevices({ siteId: uuidv7() }))).toBe("site_not_found");
    expect(await outcome(partner.listDevices({ siteId: elsewhere.siteId }))).toBe("site_not_found");
    expect(await outcome(partner.listDevices({ groupId: uuidv7() }))).toBe("device_group_not_found");
    expect(await outcome(partner.listDevices({ orgId: uuidv7() }))).toBe("organization_not_found");
    expect(await outcome(partner.listDevices({ status: "broken" }))).toBe("validation_failed status");
    expect(await outcome(partner.listDevices({ groupId: "x" }))).toBe("validation_failed groupId");
  });

  it("filters by system, version, label and time of the last heartbeat", async () => {
    const tenant = await fleet.tenant();
    const client = as(admin(tenant));
    const a = await fleet.device(tenant.orgId, {
      os: "linux",
      agentVersion: "1.2.0",
      labels: { tier: "1", site: "a" },
    });
    const b = await fleet.device(tenant.orgId, { os: "windows", agentVersion: "1.3.0", labels: { tier: "2" } });
    const found = async (filter: object) => idsOf(await client.listDevices(filter));
    expect(await found({ os: "linux" })).toEqual([a]);
    expect(await found({ agentVersion: "1.3.0" })).toEqual([b]);
    expect(await found({ agentVersion: "1" })).toEqual([]);
    expect(await found({ label: "tier" })).toEqual([b, a]);
    expect(await found({ label: "tier=2" })).toEqual([b]);
    expect(await found({ label: "site=a=b" })).toEqual([]);
    const [past, future] = [-1, 1].map((days) => timestampFromDate(new Date(Date.now() + days * 86_400_000)));
    expect(await found({ seenAfter: past })).toEqual([]);
    expect(await found({ seenBefore: past })).toEqual([]);
    expect(await found({ seenBefore: future })).toEqual([b, a]);
    expect(await outcome(client.listDevices({ os: "beos" }))).toBe("validation_failed os");
  });

  it("filters by the enrollment key, which devices no longer name once it was forgotten", async () => {
    const tenant = await fleet.tenant();
    const client = as(admin(tenant));
    const enrollmentKeyId = uuidv7();
    const id = uuidv7();
    await fleet.createDevice(tenant.orgId, { id, enrollmentKeyId });
    await fleet.device(tenant.orgId);
    const { devices } = await client.listDevices({ enrollmentKeyId });
    expect(devices.map((device) => [device.id, device.enrollmentKeyId])).toEqual([[id, enrollmentKeyId]]);
    const identity = as(callers.service("identity"));
    await identity.forgetEnrollmentKey({ id: enrollmentKeyId });
    expect((await client.listDevices({ enrollmentKeyId })).devices).toEqual([]);
    expect((await client.getDevice({ id })).device?.enrollmentKeyId).toBe("");
    expect(await outcome(client.forgetEnrollmentKey({ id: enrollmentKeyId }))).toBe("permission_denied");
    expect(await outcome(client.listDevices({ enrollmentKeyId: "x" }))).toBe("validation_failed enrollmentKeyId");
  });

  it("counts by status the devices that a list of the same owners shows", async () => {
    const tenant = await fleet.tenant();
    const client = as(admin(tenant));
    await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    await fleet.device(tenant.orgId);
    await client.decommissionDevice({ id: await fleet.device(tenant.orgId) });
    const counted = async (owners: object) => {
      const { counts } = await client.countDevices(owners);
      return Object.fromEntries(counts.map(({ status, count }) => [status, Number(count)]));
    };
    const none = { online: 0, offline: 0, updating: 0, decommissioned: 0, quarantined: 0 };
    expect(await counted({})).toEqual({ ...none, offline: 2, decommissioned: 1 });
    expect(await counted({ orgId: tenant.orgId, siteId: tenant.siteId })).toEqual({ ...none, offline: 1 });
    const elsewhere = await fleet.tenant();
    expect(await outcome(client.countDevices({ orgId: elsewhere.orgId }))).toBe("organization_not_found");
    expect(await outcome(client.countDevices({ siteId: elsewhere.siteId }))).toBe("site_not_found");
    expect(
      await outcome(as(callers.orgAdmin(tenant.partnerId, tenant.orgId, { permissions: [] })).countDevices({})),
    ).toBe("permission_denied");
  });

  it("walks newest first by page and by cursor, without repeating or skipping", async () => {
    const tenant = await fleet.tenant();
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.unshift(await fleet.device(tenant.orgId));
    const client = as(admin(tenant));
    const walked: string[] = [];
    let cursor = "";
    do {
      const listed = await client.listDevices({ page: { limit: 3, cursor, skipCount: true } });
      walked.push(...idsOf(listed));
      expect(listed.page?.total).toBeUndefined();
      cursor = listed.page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(walked).toEqual(ids);
    const second = await client.listDevices({ page: { page: 2, limit: 3 } });
    expect([idsOf(second), Number(second.page?.total)]).toEqual([ids.slice(3, 6), 7]);
    for (const bad of [
      "xyz",
      encodeCursor(["2026-01-01", uuidv7()]),
      encodeCursor(["0001-01-01T00:00:00.000Z", "x"]),
    ]) {
      expect(await outcome(client.listDevices({ page: { cursor: bad } }))).toBe("validation_failed cursor");
    }
  });
});

describe("a sorted list of devices", () => {
  it("is paged by host name or by the last heartbeat, in both directions, without repeating or skipping", async () => {
    const tenant = await fleet.tenant();
    const names = ["web-2", "Web-1", "db", "web-2", "APP"];
    const made: { id: string; hostname: string }[] = [];
    for (const hostname of names) made.push({ hostname, id: await fleet.device(tenant.orgId, { hostname }) });
    const client = as(admin(tenant));
    const walk = async (sort: string) => {
      const ids: string[] = [];
      let cursor = "";
      do {
        const listed = await client.listDevices({ sort, page: { limit: 2, cursor } });
        ids.push(...idsOf(listed));
        expect(Number(listed.page?.total)).toBe(names.length);
        cursor = listed.page?.nextCursor ?? "";
      } while (cursor !== "");
      return ids;
    };
    const byName = await walk("hostname");
    expect(byName.map((id) => made.find((each) => each.id === id)?.hostname)).toEqual([
      "APP",
      "db",
      "Web-1",
      "web-2",
      "web-2",
    ]);
    expect(new Set(byName).size).toBe(names.length);
    expect(await walk("-hostname")).toEqual(byName.toReversed());
    // No device was ever seen: each is ordered by its enrollment.
    const enrolled = idsOf(await client.listDevices({})).toReversed();
    expect(await walk("last_seen")).toEqual(enrolled);
    expect(await walk("-last_seen")).toEqual(enrolled.toReversed());
    const second = await client.listDevices({ sort: "hostname", page: { page: 2, limit: 2 } });
    expect(idsOf(second)).toEqual(byName.slice(2, 4));
  });

  it("accepts only cursors of its own order, and known orders", async () => {
    const tenant = await fleet.tenant();
    for (const hostname of ["a", "b"]) await fleet.device(tenant.orgId, { hostname });
    const client = as(admin(tenant));
    const cursorOf = async (sort: string) =>
      (await client.listDevices({ sort, page: { limit: 1 } })).page?.nextCursor ?? "";
    const sorts = ["", "hostname", "-hostname", "last_seen", "-last_seen"];
    for (const made of sorts) {
      const cursor = await cursorOf(made);
      for (const sort of sorts) {
        const answered = await outcome(client.listDevices({ sort, page: { cursor } }));
        expect({ made, sort, answered }).toEqual({
          made,
          sort,
          answered: made === sort ? "ok" : "validation_failed cursor",
        });
      }
    }
    expect(await outcome(client.listDevices({ sort: "created_at" }))).toBe("validation_failed sort");
  });
});

describe("the device look-up of other services", () => {
  it("answers as the newest events do, and services only", async () => {
    const tenant = await fleet.tenant();
    const [sited, gone] = [
      await fleet.device(tenant.orgId, { siteId: tenant.siteId }),
      await fleet.device(tenant.orgId),
    ];
    await as(admin(tenant)).decommissionDevice({ id: gone });
    const ask = (caller: Caller, ids: string[]) => fleet.port.client(SnapshotService, caller).getDevices({ ids });
    const { devices } = await ask(callers.service("device-logs"), [sited, gone, uuidv7()]);
    for (const id of [sited, gone]) {
      const [, newest] = (await fleet.messagesOf(id)).events.at(-1) ?? [];
      expect(devices.find((device) => device.id === id)).toEqual(newest);
    }
    expect(devices).toHaveLength(2);
    expect(await outcome(ask(callers.platformAdmin({ permissions }), [sited]))).toBe("scope_not_allowed");
    expect(await outcome(ask(callers.service("audit"), [sited]))).toBe("permission_denied");
    expect(await outcome(ask(callers.service("device-logs"), ["x"]))).toBe("validation_failed ids");
  });
});

describe("deleting a site", () => {
  const root = () => fleet.port.client(SiteService, callers.platformAdmin({ permissions }));
  const system = { caller: systemCaller("tenancy") };
  const stored = (ids: readonly string[]) =>
    fleet.database.db.read<{ siteId: string | null; version: number; later: boolean }>(
      system,
      sql`SELECT site_id AS "siteId", version, updated_at > created_at AS later FROM devices WHERE id = ANY (${[...ids]}::uuid[])`,
    );
  const removals = () => fleet.database.db.read<{ id: string }>(system, sql`SELECT id FROM site_removals`);

  it("leaves its devices in the organization without a site, changed as by any other change", async () => {
    const tenant = await fleet.tenant();
    const id = await fleet.device(tenant.orgId, { siteId: tenant.siteId });
    await root().deleteSite({ id: tenant.siteId });
    expect((await as(admin(tenant)).getDevice({ id })).device).toMatchObject({ orgId: tenant.orgId, siteId: "" });
    expect(await stored([id])).toEqual([{ siteId: null, version: 2, later: true }]);
    expect(await removals()).toEqual([]);
  });

  it("hides the site from all readers at once, and a job detaches what one transaction cannot", async () => {
    const tenant = await fleet.tenant();
    const { orgId, partnerId, siteId } = tenant;
    const other = await fleet.site(orgId);
    const [moved, named, ...more] = Array.from({ length: 2_000 }, () => uuidv7()) as [string, string, ...string[]];
    const ids = [moved, named, ...more];
    // Oldest first: the two leave the site last.
    await fleet.database.db.tx(system, (tx) =>
      tx.execute(sql`
        INSERT INTO devices (id, org_id, partner_id, site_id, hostname, os, arch, agent_version, status, created_at, updated_at)
        SELECT id, ${orgId}::uuid, ${partnerId}::uuid, ${siteId}::uuid, 'HOST', 'linux', 'amd64', '1.0.0', 'offline',
               now() - interval '1 day' + n * interval '1 second', now() - interval '1 day'
        FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS g (id, n)`),
    );
    const { group } = await fleet.port
      .client(DeviceGroupService, admin(tenant))
      .createDeviceGroup({ orgId, siteId, name: "Group" });
    await root().deleteSite({ id: siteId });

    expect((await stored(ids)).filter((row) => row.siteId === siteId)).toHaveLength(1_500);
    const { devices } = await as(admin(tenant)).listDevices({ orgId, page: { limit: 100, page: 20 } });
    expect(new Set(devices.map((device) => device.siteId))).toEqual(new Set([""]));
    expect((await as(admin(tenant)).getDevice({ id: moved })).device).toMatchObject({ siteId: "" });
    expect(await outcome(as(admin(tenant)).listDevices({ siteId }))).toBe("site_not_found");
    expect(await outcome(as(limited(tenant, siteId, other)).getDevice({ id: moved }))).toBe("device_not_found");
    expect((await as(limited(tenant, siteId, other)).listDevices({})).devices).toEqual([]);
    const groups = fleet.port.client(DeviceGroupService, admin(tenant));
    expect(await outcome(groups.getDeviceGroup({ id: group?.id ?? "" }))).toBe("device_group_not_found");
    const { devices: facts } = await fleet.port
      .client(SnapshotService, callers.service("device-logs"))
      .getDevices({ ids: [moved] });
    expect(facts).toEqual([expect.objectContaining({ id: moved, siteId: "" })]);

    const change = { updateMask: { paths: ["site_id"] }, device: { siteId: other } };
    await as(admin(tenant)).updateDevice({ id: moved, ...change });
    await as(admin(tenant)).updateDevice({
      id: named,
      updateMask: { paths: ["hostname"] },
      device: { hostname: "NEW" },
    });
    await Promise.all([removeSites(fleet.database), removeSites(fleet.database)]);
    await removeSites(fleet.database);
    expect(await removals()).toEqual([]);
    expect((await stored(ids)).filter((row) => row.siteId !== null)).toEqual([
      { siteId: other, version: 2, later: true },
    ]);
    expect(new Set((await stored(ids)).map((row) => row.version))).toEqual(new Set([2]));
    expect((await as(limited(tenant, other)).listDevices({})).devices.map(({ id }) => id)).toEqual([moved]);
  });
});
