import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { MetricService } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { MetricHistory } from "../jobs/metric-history.ts";
import { rowBytes } from "../rules/metric-hours.ts";
import { dropMetricWeeks, makeMetricWeeks } from "../store/metrics.ts";
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
/** The hour before this one: its week has a partition. */
const startMs = Math.floor(Date.now() / hourMs - 1) * hourMs;
const root = callers.platformAdmin({ permissions });

/** A process with a history of its own, whose clock is set by each report. */
function process(devicesMax = 10) {
  let nowMs = startMs;
  let fails = false;
  const { db } = fleet.database;
  const tx: typeof db.tx = async (...wanted) => {
    if (fails) throw new Error("the database is away");
    return db.tx(...wanted);
  };
  const history = new MetricHistory({ db: { ...db, tx }, devicesMax, now: () => new Date(nowMs) });
  return {
    fail: (yes: boolean) => {
      fails = yes;
    },
    report(deviceId: string, minutes: number, cpu: number | null, memory: number | null = null) {
      nowMs = startMs + minutes * 60_000;
      history.add(deviceId, { cpu, memory, disk: null });
    },
    write: (minutes: number, all = false) => {
      nowMs = startMs + minutes * 60_000;
      return history.write({ all });
    },
  };
}

const period = (minutes: number, stepSeconds: number) => ({
  ...{ from: timestampFromMs(startMs), to: timestampFromMs(startMs + minutes * 60_000), stepSeconds },
});
const pointsOf = async (id: string, minutes: number, stepSeconds: number, caller: Caller = root) => {
  const reply = await port.client(MetricService, caller).getDeviceMetrics({ id, period: period(minutes, stepSeconds) });
  return reply.points.map(({ at, cpu, memory, disk }) => ({
    minute: at ? (timestampDate(at).getTime() - startMs) / 60_000 : null,
    ...Object.fromEntries(
      Object.entries({ cpu, memory, disk }).flatMap(([name, range]) => {
        return range ? [[name, [range.min, range.mean, range.max]]] : [];
      }),
    ),
  }));
};

describe("the history of a device's metrics", () => {
  it("has means of five minutes, and minimum, mean and maximum of an hour once it has ended", async () => {
    const id = await fleet.device((await fleet.tenant()).orgId);
    const one = process();
    one.report(id, 0, 10, 40);
    one.report(id, 1, 20);
    one.report(id, 7, 61, 50);
    // No shares in percent.
    for (const value of [101, -1, Number.NaN, null]) one.report(id, 8, value);
    expect(await one.write(59)).toBe(0);
    expect(await pointsOf(id, 60, 300)).toEqual([]);
    expect(await one.write(60)).toBe(1);
    expect(await one.write(61)).toBe(0);
    expect(await pointsOf(id, 60, 300)).toEqual([
      { minute: 0, cpu: [15, 15, 15], memory: [40, 40, 40] },
      { minute: 5, cpu: [61, 61, 61], memory: [50, 50, 50] },
    ]);
    expect(await pointsOf(id, 60, 1_800)).toMatchObject([{ minute: 0, cpu: [15, expect.any(Number), 61] }]);
    expect(await pointsOf(id, 60, 3_600)).toEqual([{ minute: 0, cpu: [10, 30.5, 61], memory: [40, 45, 50] }]);
  });

  it("joins what several processes received, also one that stopped within the hour", async () => {
    const id = await fleet.device((await fleet.tenant()).orgId);
    const [one, other] = [process(), process()];
    one.report(id, 0, 10);
    expect(await one.write(1, true)).toBe(1);
    for (const minute of [1, 2, 3]) other.report(id, minute, 50);
    await other.write(60);
    expect(await pointsOf(id, 60, 300)).toEqual([{ minute: 0, cpu: [10, 40, 50] }]);
    expect(await pointsOf(id, 60, 3_600)).toEqual([{ minute: 0, cpu: [10, 40, 50] }]);
  });

  it("holds as many devices as it may, and keeps what cannot be written", async () => {
    const { orgId } = await fleet.tenant();
    const [first, second] = [await fleet.device(orgId), await fleet.device(orgId)];
    const one = process(1);
    one.report(first, 0, 10);
    one.report(second, 0, 10);
    one.fail(true);
    await expect(one.write(60)).rejects.toThrow("away");
    one.fail(false);
    expect(await one.write(61)).toBe(1);
    expect([await pointsOf(first, 60, 3_600), await pointsOf(second, 60, 3_600)]).toMatchObject([[{ minute: 0 }], []]);
  });

  it("is read by those who may read the device, in steps that there are", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const other = await fleet.tenant();
    const id = await fleet.device(orgId);
    const read = (caller: Caller, change: object = {}) =>
      outcome(port.client(MetricService, caller).getDeviceMetrics({ id, period: { ...period(60, 300), ...change } }));
    expect(await read(callers.orgAdmin(partnerId, orgId, { permissions }))).toBe("ok");
    expect(await read(callers.orgAdmin(other.partnerId, other.orgId, { permissions }))).toBe("device_not_found");
    expect(await read(callers.orgAdmin(partnerId, orgId, { permissions: [] }))).toBe("permission_denied");
    expect(await read(root, { stepSeconds: 1 })).toBe("validation_failed step");
    const days = (count: number) => ({ from: timestampFromMs(startMs - count * 24 * hourMs) });
    expect(await read(root, days(8))).toBe("validation_failed step");
    expect(await read(root, days(7))).toBe("ok");
    expect(await read(root, { ...days(90), stepSeconds: 3_600 })).toBe("ok");
    expect(await read(root, { to: period(0, 300).from })).toBe("validation_failed to");
  });
});

describe("percentiles across devices", () => {
  it("are of the devices that the caller may read", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const ids = await Promise.all(Array.from({ length: 10 }, () => fleet.device(orgId)));
    const foreign = await fleet.device((await fleet.tenant()).orgId);
    const one = process(20);
    ids.forEach((id, at) => {
      one.report(id, 0, 10 * (at + 1));
    });
    one.report(foreign, 0, 99);
    await one.write(60);
    const admin = port.client(MetricService, callers.orgAdmin(partnerId, orgId, { permissions }));
    const { points } = await admin.getMetricPercentiles({ period: period(60, 3_600) });
    expect(points).toMatchObject([{ devices: 10, cpu: [50, 90, 100, 100], memory: [], disk: [] }]);
    expect(await outcome(admin.getMetricPercentiles({ period: period(60, 300) }))).toBe("validation_failed step");
    const elsewhere = { orgId: (await fleet.tenant()).orgId, period: period(60, 3_600) };
    expect(await outcome(admin.getMetricPercentiles(elsewhere))).toBe("organization_not_found");
  });
});

describe("the table of metrics", () => {
  it("takes at most 3 KiB for a device and day", async () => {
    const ids = Array.from({ length: 1_000 }, () => uuidv7());
    const day = Math.floor(startMs / hourMs) - 24 * 400;
    const size = async () => {
      const [row] = await fleet.database.db.read<{ bytes: number }>(
        { caller: systemCaller("tenancy") },
        sql`SELECT pg_total_relation_size('device_metrics_default')::float8 AS bytes`,
      );
      return row?.bytes ?? 0;
    };
    const before = await size();
    for (let hour = 0; hour < 24; hour++) {
      await fleet.database.db.tx({ caller: systemCaller("tenancy") }, (tx) =>
        tx.execute(sql`
          INSERT INTO device_metrics (device_id, hour, packed)
          SELECT id, ${day + hour}::int, substring(decode(repeat(md5(id::text), 4), 'hex') FOR ${rowBytes}::int) FROM unnest(${ids}::uuid[]) AS id`),
      );
    }
    expect((await size()) - before).toBeLessThan(3_072 * ids.length);
  });

  it("has partitions ahead, and loses those past their time, once", async () => {
    const { db } = fleet.database;
    expect(await makeMetricWeeks(db, 4)).toBe(2);
    expect(await makeMetricWeeks(db, 4)).toBe(0);
    expect(await dropMetricWeeks(db, new Date(Date.now() - 86_400_000 * 90))).toBe(0);
    await expect(dropMetricWeeks(db, new Date())).rejects.toThrow("younger than a day");
  });
});
