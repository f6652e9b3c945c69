import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, systemCaller } from "@muster/kit";
import { type HistoryMetric, historyMetrics, hourlyAt, hourMs } from "../rules/metric-hours.ts";
import type { Period } from "../rules/metric-series.ts";
import { type DeviceOwners, devicesOfOwners } from "./device-list.ts";

export type MetricRow = { device_id: string; hour: number; packed: Buffer };

const system = { caller: systemCaller("tenancy") };

/** Adds rows; several of the same device and hour count together. */
export async function insertMetricRows(tx: Tx, rows: readonly MetricRow[]): Promise<void> {
  await tx.execute(sql`
    INSERT INTO device_metrics (device_id, hour, packed)
    SELECT * FROM unnest(${rows.map((row) => row.device_id)}::uuid[], ${rows.map((row) => row.hour)}::int[],
                         ${rows.map((row) => row.packed)}::bytea[])`);
}

/** The rows of a device that the caller has found (index device_metrics_of_device, in the weeks of the period). */
export function metricRowsOf(
  db: Database,
  { deadlineMs, meta }: CallContext,
  deviceId: string,
  period: Period,
): Promise<{ hour: number; packed: Buffer }[]> {
  const [first, end] = hoursOf(period);
  return db.read(
    { ...system, deadlineMs, meta },
    sql`SELECT hour, packed FROM device_metrics
        WHERE device_id = ${deviceId}::uuid AND hour >= ${first}::int AND hour < ${end}::int`,
  );
}

export const percentiles = [50, 90, 95, 99] as const;
export type PercentilePoint = { atMs: number; devices: number } & Record<HistoryMetric, number[] | null>;

/**
 * Percentiles of the devices' hourly means in each step, oldest first. The devices are read in the caller's name, their
 * rows in the service's own. Null when there are more devices than `most`.
 */
export async function metricPercentiles(
  db: Database,
  context: CallContext,
  owners: DeviceOwners,
  period: Period,
  most: number,
): Promise<PercentilePoint[] | null> {
  const ids = await db.tx(context, (tx) => devicesOfOwners(tx, context.caller, owners, most + 1), { readOnly: true });
  if (ids.length > most) return null;
  const [first, end] = hoursOf(period);
  const shares = percentiles.map((each) => each / 100);
  const [cpu, memory, disk] = historyMetrics.map((_, metric) => {
    const mean = sql`get_byte(packed, ${hourlyAt + 3 * metric + 1}::int)`;
    return sql`percentile_disc(${shares}::float8[]) WITHIN GROUP (ORDER BY ${mean}) FILTER (WHERE ${mean} < 255)`;
  });
  type Row = { step: number; devices: number } & Record<HistoryMetric, number[] | null>;
  const { deadlineMs, meta } = context;
  const rows = await db.read<Row>(
    { ...system, deadlineMs, meta },
    sql`SELECT hour / ${period.stepMs / hourMs}::int AS step, count(DISTINCT device_id)::int AS devices,
               ${cpu} AS cpu, ${memory} AS memory, ${disk} AS disk
        FROM device_metrics
        WHERE device_id = ANY (${ids}::uuid[]) AND hour >= ${first}::int AND hour < ${end}::int
        GROUP BY 1 ORDER BY 1`,
  );
  const inPercent = (values: number[] | null) => values?.map((value) => value / 2) ?? null;
  return rows.map((row) => ({
    atMs: row.step * period.stepMs,
    devices: row.devices,
    cpu: inPercent(row.cpu),
    memory: inPercent(row.memory),
    disk: inPercent(row.disk),
  }));
}

const hoursOf = ({ fromMs, toMs }: Period): [first: number, end: number] => [
  Math.floor(fromMs / hourMs),
  Math.ceil(toMs / hourMs),
];

/** Makes the partitions of the coming weeks; returns how many were made. */
export async function makeMetricWeeks(db: Database, weeksAhead: number): Promise<number> {
  const [row] = await db.tx(system, (tx) =>
    tx.query<{ made: number }>(sql`SELECT make_metric_weeks(${weeksAhead}) AS made`),
  );
  return row?.made ?? 0;
}

/** Drops weeks that ended before that time; returns how many. */
export async function dropMetricWeeks(db: Database, before: Date): Promise<number> {
  for (let dropped = 0; ; dropped++) {
    const [row] = await db.tx(system, (tx) =>
      tx.query<{ week: string | null }>(sql`SELECT drop_metric_week(${before}) AS week`),
    );
    if (!row?.week) return dropped;
  }
}
