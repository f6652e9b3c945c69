import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { DeviceBulkJobService } from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callers, outcome } from "@muster/testing";
import { workOnJobs } from "../jobs/bulk-jobs.ts";
import { type Fleet, permissions, startFleet, type Tenant } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

const system = { caller: systemCaller("tenancy") };
const log = createLogger("test", "fatal");
const jobs = (caller: Caller) => fleet.port.client(DeviceBulkJobService, caller);
const root = callers.platformAdmin({ permissions });
const deviceOf = async (id: string) => (await fleet.port.client(DeviceService, root).getDevice({ id })).device;
const work = (db = fleet.database.db) => workOnJobs({ db, log, now: () => new Date() }, new AbortController().signal);
const autoUpdateOff = { updateMask: { paths: ["auto_update_enabled"] }, device: { autoUpdateEnabled: false } };
const update = (orgId: string, expectedCount: number) => ({
  ...{ filter: { orgId }, expectedCount, action: "update" },
  ...autoUpdateOff,
});
const adminOf = ({ partnerId, orgId }: Tenant, more: object = {}) =>
  callers.orgAdmin(partnerId, orgId, { permissions, ...more });
const auditsOf = async (id: string) => (await fleet.messagesOf(id)).audits.map(({ action }) => action);

async function tenantWith(devices: number) {
  const tenant = await fleet.tenant();
  const ids: string[] = [];
  for (let n = 0; n < devices; n++) ids.push(await fleet.device(tenant.orgId));
  return { ...tenant, ids };
}

describe("a bulk job", () => {
  it("changes each device that matched, with an audit row of the job and one of each device", async () => {
    const tenant = await tenantWith(3);
    const admin = adminOf(tenant);
    const { job } = await jobs(admin).createDeviceBulkJob(update(tenant.orgId, 3));
    const id = job?.id ?? "";
    expect(job).toMatchObject({ state: "queued", total: 3, done: 0, failed: 0, orgId: tenant.orgId, action: "update" });
    const late = await fleet.device(tenant.orgId);
    await work();
    const ended = (await jobs(admin).getDeviceBulkJob({ id })).job;
    expect(ended).toMatchObject({ state: "done", done: 3, failed: 0, failures: [], filter: { orgId: tenant.orgId } });
    expect(ended?.finishedAt).toBeDefined();
    for (const device of tenant.ids) {
      expect(await deviceOf(device)).toMatchObject({ autoUpdateEnabled: false });
      expect(await auditsOf(device)).toEqual(["device.create", "device.update"]);
      const { audits } = await fleet.messagesOf(device);
      expect(audits.at(-1)).toMatchObject({
        actorId: admin.actor.id,
        targets: [{ type: "device_bulk_job", id, name: "" }],
      });
    }
    expect(await deviceOf(late)).toMatchObject({ autoUpdateEnabled: true });
    expect(await auditsOf(id)).toEqual(["device.bulk_job.create"]);
  });

  it("is listed newest first, of an organization and by its states, to those who reach its tenant or made it", async () => {
    const tenant = await tenantWith(2);
    const other = await fleet.tenant();
    const admin = adminOf(tenant);
    const { siteId } = tenant;
    const ids: (string | undefined)[] = [];
    for (let n = 0; n < 2; n++) {
      ids.unshift((await jobs(admin).createDeviceBulkJob(update(tenant.orgId, 2))).job?.id);
      await jobs(admin).cancelDeviceBulkJob({ id: ids[0] });
    }
    const listed = async (caller: Caller, change: object = {}) =>
      (await jobs(caller).listDeviceBulkJobs({ page: { limit: 100 }, ...change })).jobs.map(({ id }) => id);
    expect(await listed(admin)).toEqual(ids);
    expect(await listed(admin, { states: ["done", "queued"] })).toEqual([]);
    expect(await listed(admin, { states: ["cancelled"] })).toEqual(ids);
    expect(await listed(root, { orgId: tenant.orgId })).toEqual(ids);
    expect(await listed(adminOf(other))).toEqual([]);
    expect(await listed(adminOf(tenant, { siteIds: [siteId] }))).toEqual([]);
    expect(await listed(adminOf(tenant, { siteIds: [siteId], actor: admin.actor }))).toEqual(ids);
    const first = await jobs(admin).listDeviceBulkJobs({ page: { limit: 1 } });
    expect([first.jobs.map(({ id }) => id), first.page?.total]).toEqual([[ids[0]], 2n]);
    expect(await listed(admin, { page: { limit: 1, cursor: first.page?.nextCursor } })).toEqual([ids[1]]);
    expect(await outcome(listed(adminOf(other), { orgId: tenant.orgId }))).toBe("organization_not_found");
    expect(await outcome(listed(admin, { states: ["late"] }))).toBe("validation_failed states");
    expect(await outcome(listed(adminOf(tenant, { permissions: [] })))).toBe("permission_denied");
  });

  it("names the reasons of devices that were refused, and changes the others", async () => {
    const tenant = await tenantWith(3);
    const [gone = ""] = tenant.ids;
    await fleet.port.client(DeviceService, root).decommissionDevice({ id: gone });
    const { job } = await jobs(adminOf(tenant)).createDeviceBulkJob(update(tenant.orgId, 3));
    await work();
    expect((await jobs(adminOf(tenant)).getDeviceBulkJob({ id: job?.id ?? "" })).job).toMatchObject({
      ...{ state: "done", done: 2, failed: 1 },
      failures: [{ code: "device_decommissioned", error: "Device is decommissioned", count: 1, deviceIds: [gone] }],
    });
  });

  it.each([
    ["decommission", "offline", "decommissioned"],
    ["reject", "quarantined", "decommissioned"],
    ["approve", "quarantined", "offline"],
    ["merge", "quarantined", "offline"],
  ])("%s makes devices that are %s %s", async (action, before, after) => {
    const tenant = await tenantWith(2);
    await fleet.database.db.tx(system, (tx) =>
      tx.execute(sql`UPDATE devices SET status = ${before} WHERE org_id = ${tenant.orgId}::uuid`),
    );
    const filter = { orgId: tenant.orgId, statuses: [before] };
    await jobs(adminOf(tenant)).createDeviceBulkJob({ filter, expectedCount: 2, action });
    await work();
    for (const id of tenant.ids) expect(await deviceOf(id)).toMatchObject({ status: after });
  });

  it("is refused when the number of devices differs by more than 1 % from the one that was shown", async () => {
    const tenant = await tenantWith(3);
    const admin = jobs(adminOf(tenant));
    for (const expected of [2, 4, 1_000]) {
      expect(await outcome(admin.createDeviceBulkJob(update(tenant.orgId, expected)))).toBe("device_count_changed");
    }
    const nobody = { ...update(tenant.orgId, 1), filter: { orgId: tenant.orgId, os: "darwin" } };
    expect(await outcome(admin.createDeviceBulkJob(nobody))).toBe("device_count_changed");
    expect(await outcome(admin.createDeviceBulkJob(update(tenant.orgId, 0)))).toBe("validation_failed expectedCount");
    expect(await outcome(admin.createDeviceBulkJob({ ...update(tenant.orgId, 3), action: "erase" }))).toBe(
      "validation_failed action",
    );
    expect(await outcome(admin.createDeviceBulkJob({ ...update(tenant.orgId, 3), updateMask: { paths: [] } }))).toBe(
      "no_updates",
    );
  });

  it("is cancelled: what was changed stays, nothing more is", async () => {
    const tenant = await tenantWith(2);
    const admin = jobs(adminOf(tenant));
    const { job } = await admin.createDeviceBulkJob(update(tenant.orgId, 2));
    const id = job?.id ?? "";
    expect((await admin.cancelDeviceBulkJob({ id })).job).toMatchObject({ state: "cancelled", done: 0 });
    await work();
    for (const device of tenant.ids) expect(await deviceOf(device)).toMatchObject({ autoUpdateEnabled: true });
    expect((await admin.cancelDeviceBulkJob({ id })).job).toMatchObject({ state: "cancelled" });
    expect(await auditsOf(id)).toEqual(["device.bulk_job.create", "device.bulk_job.cancel"]);
  });

  it("is worked on by several processes, and changes no device twice", async () => {
    const tenant = await tenantWith(8);
    const { job } = await jobs(adminOf(tenant)).createDeviceBulkJob(update(tenant.orgId, 8));
    await fleet.database.db.tx(system, (tx) =>
      // A process that was killed in the middle has claimed it until a moment ago.
      tx.execute(sql`UPDATE device_bulk_jobs SET state = 'running' WHERE id = ${job?.id}::uuid`),
    );
    await Promise.all([work(), work(), work()]);
    for (const id of tenant.ids) expect(await auditsOf(id)).toEqual(["device.create", "device.update"]);
    expect((await jobs(root).getDeviceBulkJob({ id: job?.id ?? "" })).job).toMatchObject({ state: "done", done: 8 });
  });

  it("decommissions for those alone who may delete devices", async () => {
    const tenant = await tenantWith(1);
    const writer = jobs(adminOf(tenant, { permissions: ["devices:read", "devices:write"] }));
    const filter = { orgId: tenant.orgId };
    for (const action of ["decommission", "merge", "reject"]) {
      const wanted = { filter, expectedCount: 1, action };
      expect(await outcome(writer.createDeviceBulkJob(wanted))).toBe("permission_denied");
    }
  });

  it("is visible to its author, and to those with access to its whole tenant", async () => {
    const tenant = await tenantWith(1);
    const { partnerId, orgId, siteId } = tenant;
    const other = await fleet.tenant();
    const author = callers.partnerAdmin(partnerId, { permissions });
    const { job: ofOrganization } = await jobs(author).createDeviceBulkJob(update(orgId, 1));
    const { job: ofPartner } = await jobs(author).createDeviceBulkJob({ ...update(orgId, 1), filter: {} });
    const seen = (caller: Caller) =>
      Promise.all(
        [ofOrganization, ofPartner].map((job) => outcome(jobs(caller).getDeviceBulkJob({ id: job?.id ?? "" }))),
      );
    const missing = "bulk_job_not_found";
    expect(await seen(author)).toEqual(["ok", "ok"]);
    expect(await seen(callers.partnerAdmin(partnerId, { permissions }))).toEqual(["ok", "ok"]);
    expect(await seen(callers.partnerWithList(partnerId, [orgId], { permissions }))).toEqual(["ok", missing]);
    expect(await seen(adminOf(tenant))).toEqual(["ok", missing]);
    expect(await seen(adminOf(tenant, { siteIds: [siteId] }))).toEqual([missing, missing]);
    expect(await seen(adminOf(other))).toEqual([missing, missing]);
    expect(await outcome(jobs(adminOf(other)).cancelDeviceBulkJob({ id: ofPartner?.id ?? "" }))).toBe(missing);
    expect(await outcome(jobs(author).getDeviceBulkJob({ id: uuidv7() }))).toBe(missing);
  });

  it("reaches the devices of its author's sites alone", async () => {
    const tenant = await fleet.tenant();
    const [own, elsewhere] = [
      await fleet.device(tenant.orgId, { siteId: tenant.siteId }),
      await fleet.device(tenant.orgId),
    ];
    const limited = adminOf(tenant, { siteIds: [tenant.siteId] });
    await jobs(limited).createDeviceBulkJob({ ...update(tenant.orgId, 1), filter: {} });
    await work();
    expect(await deviceOf(own)).toMatchObject({ autoUpdateEnabled: false });
    expect(await deviceOf(elsewhere)).toMatchObject({ autoUpdateEnabled: true });
  });
});
