import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, systemCaller } from "@muster/kit";
import { MetricService } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { countStates, removeHistory } from "../store/device-history.ts";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";
import { metricService } from "./metric.ts";

let fleet: Fleet;
let port: TestPort;
beforeAll(async () => {
  fleet = await startFleet();
  port = await testPort("tenancy", [register(MetricService, metricService({ db: fleet.database.db }))]);
});
afterAll(async () => {
  await port?.close();
  await fleet?.stop();
});

const hourMs = 3_600_000;
const startMs = Math.floor(Date.now() / hourMs) * hourMs;
const at = (minutes: number) => new Date(startMs + minutes * 60_000);
const count = (minutes: number) => countStates(fleet.database.db, at(minutes));
const period = (stepSeconds: number, minutes = 60) => ({
  ...{ from: timestampFromMs(startMs), to: timestampFromMs(startMs + minutes * 60_000), stepSeconds },
});
const history = async (caller: Caller, { orgId = "", stepSeconds = 300, minutes = 60 } = {}) => {
  const wanted = { orgId, period: period(stepSeconds, minutes) };
  const { points } = await port.client(MetricService, caller).getDeviceHistory(wanted);
  return points.map(({ at: time, online, offline, updating, quarantined }) => [
    time ? (timestampDate(time).getTime() - startMs) / 60_000 : null,
    ...[online, offline, updating, quarantined],
  ]);
};
const setStatus = (id: string, status: string) =>
  fleet.database.db.tx({ caller: systemCaller("tenancy") }, (tx) =>
    tx.execute(sql`UPDATE devices SET status = ${status} WHERE id = ${id}::uuid`),
  );

describe("the history of devices' states", () => {
  it("counts each five minutes once, of organizations, partners and the platform", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const otherOrg = await fleet.organization(partnerId);
    const [first, second] = [await fleet.device(orgId), await fleet.device(orgId)];
    const third = await fleet.device(otherOrg);
    for (const [id, status] of [
      [first, "online"],
      [second, "quarantined"],
      [third, "updating"],
    ] as const) {
      await setStatus(id, status);
    }
    expect(await count(12)).toBeGreaterThanOrEqual(4);
    expect(await Promise.all([count(12), count(14)])).toEqual([0, 0]);
    await setStatus(first, "offline");
    await count(17);
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    expect(await history(admin)).toEqual([
      [10, 1, 0, 0, 1],
      [15, 0, 1, 0, 1],
    ]);
    const partner = callers.partnerAdmin(partnerId, { permissions });
    expect(await history(partner)).toEqual([
      [10, 1, 0, 1, 1],
      [15, 0, 1, 1, 1],
    ]);
    expect(await history(partner, { orgId: otherOrg })).toEqual([
      [10, 0, 0, 1, 0],
      [15, 0, 0, 1, 0],
    ]);
    const granted = { mode: "list" as const, orgIds: [orgId, otherOrg] };
    expect(await history(callers.partnerAdmin(partnerId, { permissions, orgAccess: granted }))).toEqual(
      await history(partner),
    );
    expect(await history(callers.platformAdmin({ permissions }))).toHaveLength(2);
    // The mean of the step, rounded; a step ends before `to`.
    expect(await history(admin, { stepSeconds: 3_600 })).toEqual([[0, 1, 1, 0, 1]]);
    expect(await history(admin, { minutes: 15 })).toEqual([[10, 1, 0, 0, 1]]);
  });

  it("is of what the caller may read", async () => {
    const { partnerId, orgId, siteId } = await fleet.tenant();
    const other = await fleet.tenant();
    const answer = (caller: Caller, change: { orgId?: string; stepSeconds?: number } = {}) =>
      outcome(
        port.client(MetricService, caller).getDeviceHistory({
          orgId: change.orgId ?? "",
          period: period(change.stepSeconds ?? 300),
        }),
      );
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    expect(await answer(admin)).toBe("ok");
    expect(await answer(admin, { orgId: other.orgId })).toBe("organization_not_found");
    expect(await answer(admin, { orgId: "x" })).toBe("validation_failed orgId");
    expect(await answer(admin, { stepSeconds: 60 })).toBe("validation_failed step");
    expect(await answer(callers.orgAdmin(partnerId, orgId, { permissions: [] }))).toBe("permission_denied");
    expect(await answer(callers.orgAdmin(partnerId, orgId, { permissions, siteIds: [siteId] }))).toBe(
      "site_restricted",
    );
  });

  it("forgets what is older than it keeps", async () => {
    const { db } = fleet.database;
    await countStates(db, new Date(startMs - 31 * 24 * hourMs));
    expect(await removeHistory(db, new Date(startMs - 30 * 24 * hourMs))).toBeGreaterThan(0);
    expect(await removeHistory(db, new Date(startMs - 30 * 24 * hourMs))).toBe(0);
  });
});
