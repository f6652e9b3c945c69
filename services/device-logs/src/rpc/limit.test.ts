import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { AppError, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { LogLimitsSchema } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { applyTenants } from "@muster/service";
import { asOwner, callers, outcome } from "@muster/testing";
import { LogQuotas } from "../commands/log-quotas.ts";
import { startMaintenance } from "../jobs/retention.ts";
import { aLog, anEvent, startDeviceLogs, type TestDevice, type TestDeviceLogs } from "../testing/device-logs.ts";

const noon = new Date("2026-11-20T12:00:00.000Z");
let service: TestDeviceLogs;
let now = noon;
beforeAll(async () => {
  service = await startDeviceLogs({ platform: { rowsPerDay: 10, bytesPerDay: 100_000 }, now: () => now });
});
afterAll(() => service?.stop());

const system = { caller: systemCaller("device-logs") };
const logs = (n: number) => Array.from({ length: n }, () => aLog({ message: uuidv7() }));

async function newDevice(): Promise<TestDevice> {
  const device = service.device();
  const organization = { kind: "organization", id: device.orgId, partnerId: device.partnerId, orgId: device.orgId };
  await service.database.db.tx(system, (tx) =>
    applyTenants(tx, [create(TenantChangedSchema, { ...organization, status: "active", version: 1n })]),
  );
  return device;
}

const send = (device: TestDevice, n: number) =>
  service.logs(service.agentOf(device)).appendAgentLogs({ deviceId: device.deviceId, logs: logs(n) });
const administrator = () =>
  callers.platformAdmin({ permissions: ["platform:admin", "organizations:read", "organizations:write"] });
const adminOf = ({ partnerId, orgId }: TestDevice, change: object = {}) =>
  callers.orgAdmin(partnerId, orgId, { mfaAt: now, ...change });

describe("the quota of an organization", () => {
  it("is in each reply, and refuses what comes beyond it until the day ends, neighbours unaffected", async () => {
    const [device, other] = [await newDevice(), await newDevice()];
    const replies = [await send(device, 4), await send(device, 4), await send(device, 4)];
    expect(replies.map(({ quota }) => Number(quota?.rows))).toEqual([6, 2, 0]);
    expect(Number(replies[0]?.quota?.bytes)).toBeLessThan(100_000);
    const refused = await send(device, 1).catch((error: unknown) => error);
    expect(await outcome(Promise.reject(refused))).toMatch(/^log_quota_exceeded/);
    const events = { deviceId: device.deviceId, events: [anEvent()] };
    expect(await outcome(service.logs(service.agentOf(device)).appendEvents(events))).toMatch(/^log_quota_exceeded/);
    expect(await send(other, 1)).toMatchObject({ received: 1 });
    now = new Date("2026-11-21T00:00:00.000Z");
    expect(Number((await send(device, 1)).quota?.rows)).toBe(9);
    now = noon;
  });

  it("is counted for all processes once each of them has stored, and survives one", async () => {
    const device = await newDevice();
    const [one, two] = [service.newQuotas(), service.newQuotas()];
    await Promise.all([one.admit(device), two.admit(device)]);
    expect((await one.count(device, 6, 10)).rows).toBe(4);
    expect((await two.count(device, 3, 10)).rows).toBe(7);
    await Promise.all([one.store(), two.store()]);
    await one.count(device, 0, 1);
    await one.store();
    expect((await one.count(device, 0, 0)).rows).toBe(1);
    expect((await service.newQuotas().count(device, 0, 0)).rows).toBe(1);
  });

  it("keeps what could not be stored for the next time", async () => {
    const device = await newDevice();
    let isAway = true;
    const { db } = service.database;
    const away = new Proxy(db, {
      get: (target, name) =>
        name === "tx" && isAway
          ? () => Promise.reject(new AppError("unavailable", "away"))
          : Reflect.get(target, name).bind(target),
    });
    const deps = { log: createLogger("test", "fatal"), platform: service.platform, now: () => now };
    const quotas = new LogQuotas({ ...deps, db: away });
    await quotas.count(device, 6, 10);
    await expect(quotas.store()).rejects.toThrow("away");
    isAway = false;
    expect((await quotas.count(device, 1, 0)).rows).toBe(3);
    await quotas.store();
    expect((await service.newQuotas().count(device, 0, 0)).rows).toBe(3);
  });

  it("is changed by the platform alone, and counts from the next store on", async () => {
    const device = await newDevice();
    const { orgId } = device;
    const change = (caller: ReturnType<typeof administrator>) =>
      service.limits(caller).updateLogLimits({
        orgId,
        updateMask: { paths: ["rows_per_day"] },
        limits: create(LogLimitsSchema, { rowsPerDay: 2n }),
      });
    expect(await outcome(change(adminOf(device)))).toMatch(/^permission_denied/);
    expect(Number((await send(device, 1)).quota?.rows)).toBe(9);
    const { limits } = await change({ ...administrator(), mfaAt: now });
    expect(limits).toMatchObject({ own: { rowsPerDay: 2n }, effective: { rowsPerDay: 2n, agentLogDays: 30 } });
    await send(device, 1);
    await service.quotas.store();
    expect(await outcome(send(device, 1))).toMatch(/^log_quota_exceeded/);
    const [audit] = await service.auditsOf(orgId);
    expect(audit?.action).toBe("organization.log_limits.update");
  });

  it("shows its users what was sent today, and the platform who sent most and who was refused", async () => {
    const [most, less] = [await newDevice(), await newDevice()];
    for (const n of [8, 4]) await send(most, n);
    await outcome(send(most, 1));
    await send(less, 3);
    await service.quotas.store();
    const { limits } = await service.limits(adminOf(most)).getLogLimits({ orgId: most.orgId });
    expect(limits).toMatchObject({
      today: { day: "2026-11-20", rows: 12n, refused: 1n },
      effective: { rowsPerDay: 10n },
    });
    const list = async (wanted: object) =>
      (await service.limits(administrator()).listLogUsage(wanted)).usage
        .map(({ orgId }) => orgId)
        .filter((id) => [most.orgId, less.orgId].includes(id));
    expect(await list({})).toEqual([most.orgId, less.orgId]);
    expect(await list({ refusedOnly: true })).toEqual([most.orgId]);
    expect(await list({ day: "2026-11-19" })).toEqual([]);
    const first = await service.limits(administrator()).listLogUsage({ page: { limit: 1 } });
    const { nextCursor: cursor = "" } = first.page ?? {};
    const second = await service.limits(administrator()).listLogUsage({ page: { limit: 1, cursor } });
    expect(second.usage[0]?.orgId).not.toBe(first.usage[0]?.orgId);
    expect(await outcome(service.limits(administrator()).listLogUsage({ day: "2026-02-30" }))).toBe(
      "validation_failed day",
    );
    expect(await outcome(service.limits(adminOf(most)).listLogUsage({}))).toMatch(/^permission_denied/);
  });

  it("is not found in another organization, and no user of some sites changes it", async () => {
    const [device, other] = [await newDevice(), await newDevice()];
    const change = { orgId: other.orgId, updateMask: { paths: ["agent_log_days"] }, limits: { agentLogDays: 1 } };
    const callersOf = [adminOf(device), callers.partnerAdmin(device.partnerId, { mfaAt: now })];
    for (const caller of callersOf) {
      expect(await outcome(service.limits(caller).getLogLimits({ orgId: other.orgId }))).toBe("organization_not_found");
      expect(await outcome(service.limits(caller).updateLogLimits(change))).toBe("organization_not_found");
    }
    const restricted = adminOf(device, { siteIds: [device.siteId] });
    expect(await outcome(service.limits(restricted).updateLogLimits({ ...change, orgId: device.orgId }))).toMatch(
      /^site_restricted/,
    );
    expect(await outcome(service.limits(administrator()).getLogLimits({ orgId: "x" }))).toBe("organization_not_found");
  });
});

describe("a shorter retention", () => {
  it("removes what is older, of this organization alone, and again what comes of age", async () => {
    const [device, other] = [await newDevice(), await newDevice()];
    const age = async ({ deviceId, orgId, partnerId }: TestDevice) => {
      const ids = `gen_random_uuid(), '${deviceId}', '${orgId}', '${partnerId}', now(), 'info'`;
      await asOwner(service.database, (owner) =>
        owner.query(`
          INSERT INTO agent_log (id, device_id, org_id, partner_id, "timestamp", level, component, message, created_at)
            SELECT ${ids}, 'ws', 'x', now() - n * interval '1 day' FROM generate_series(0, 9) n;
          INSERT INTO event_log (id, device_id, org_id, partner_id, "timestamp", level, category, source, message, created_at)
            SELECT ${ids}, 'system', 's', 'x', now() - n * interval '1 day' FROM generate_series(0, 9) n`),
      );
    };
    await Promise.all([age(device), age(other)]);
    await service.limits(adminOf(device)).updateLogLimits({
      orgId: device.orgId,
      updateMask: { paths: ["agent_log_days", "event_log_days"] },
      limits: create(LogLimitsSchema, { agentLogDays: 5, eventLogDays: 3 }),
    });
    let at = Date.now() + 60_000;
    const { db } = service.database;
    const log = createLogger("test", "fatal");
    const maintenance = startMaintenance({ db, log, platform: service.platform, now: () => new Date(at) });
    const left = async ({ deviceId }: TestDevice) => [
      await service.count("agent_log", deviceId),
      await service.count("event_log", deviceId),
    ];
    await maintenance.run();
    expect(await left(device)).toEqual([5, 3]);
    at += 2 * 86_400_000;
    await maintenance.run();
    expect(await left(device)).toEqual([3, 1]);
    expect(await left(other)).toEqual([10, 10]);
    await maintenance.stop();
    const marks = sql`SELECT FROM log_limit WHERE org_id = ${device.orgId}::uuid AND agent_logs_pruned_before < events_pruned_before`;
    expect(await db.read(system, marks)).toHaveLength(1);
  });
});
