/** Shares in percent of which a history is kept, by the names that heartbeats and replies use. */
export const historyMetrics = ["cpu", "memory", "disk"] as const;
export type HistoryMetric = (typeof historyMetrics)[number];
/** One report of a device; null for what it omitted. */
export type MetricSample = Record<HistoryMetric, number | null>;

/** What takes the reports of devices. */
export type MetricSink = { add(deviceId: string, sample: MetricSample): void };

export const hourMs = 3_600_000;
export const slotMs = 300_000;
const slots = hourMs / slotMs;
const metrics = historyMetrics.length;

/** Hours since 1970. */
export const hourOf = (atMs: number): number => Math.floor(atMs / hourMs);

/**
 * What one process has received of a device within an hour: for each metric and slot of five minutes sum and count,
 * then for each metric minimum and maximum. One array of numbers: there is one for each device.
 */
export type HourSums = Float32Array;
const countsAt = metrics * slots;
const minimaAt = 2 * countsAt;
const maximaAt = minimaAt + metrics;

export function newHourSums(): HourSums {
  const sums = new Float32Array(maximaAt + metrics);
  sums.fill(Number.POSITIVE_INFINITY, minimaAt, maximaAt);
  sums.fill(Number.NEGATIVE_INFINITY, maximaAt);
  return sums;
}

/** Adds a report that came at that time of the hour. What is no share in percent is left out. */
export function addSample(sums: HourSums, atMs: number, sample: MetricSample): void {
  const slot = Math.floor((atMs % hourMs) / slotMs);
  historyMetrics.forEach((name, metric) => {
    const value = sample[name];
    if (value === null || !(value >= 0 && value <= 100)) return;
    const at = metric * slots + slot;
    sums[at] = (sums[at] ?? 0) + value;
    sums[countsAt + at] = (sums[countsAt + at] ?? 0) + 1;
    sums[minimaAt + metric] = Math.min(sums[minimaAt + metric] ?? value, value);
    sums[maximaAt + metric] = Math.max(sums[maximaAt + metric] ?? value, value);
  });
}

/** A mean that is missing; others are half percents. */
const none = 255;
const packed = (percent: number) => Math.round(percent * 2);
const format = 1;
const countsInRow = 1 + metrics * slots;
/** Offset of the hour's minimum, mean and maximum of each metric in a row. */
export const hourlyAt = countsInRow + slots;
export const rowBytes = hourlyAt + 3 * metrics;

/**
 * A row: the format, a byte for each metric and slot with its mean in half percents (255: none), for each slot the
 * number of reports (at most 255), and for each metric the hour's minimum, mean and maximum in half percents.
 */
export function packHour(sums: HourSums): Buffer {
  const row = Buffer.alloc(rowBytes, none);
  row[0] = format;
  for (let slot = 0; slot < slots; slot++) {
    const counts = historyMetrics.map((_, metric) => sums[countsAt + metric * slots + slot] ?? 0);
    row[countsInRow + slot] = Math.min(none, Math.max(...counts));
  }
  for (let metric = 0; metric < metrics; metric++) {
    let [total, count] = [0, 0];
    for (let at = metric * slots; at < (metric + 1) * slots; at++) {
      const n = sums[countsAt + at] ?? 0;
      if (n === 0) continue;
      row[1 + at] = packed((sums[at] ?? 0) / n);
      total += sums[at] ?? 0;
      count += n;
    }
    if (count === 0) continue;
    row[hourlyAt + 3 * metric] = packed(sums[minimaAt + metric] ?? 0);
    row[hourlyAt + 3 * metric + 1] = packed(total / count);
    row[hourlyAt + 3 * metric + 2] = packed(sums[maximaAt + metric] ?? 0);
  }
  return row;
}

/** Reports of a metric within some time, in percent; `count` of them. */
export type Range = { min: number; mean: number; max: number; count: number };

/** A metric in one slot of five minutes of a row; null without a report. */
export function slotOf(row: Buffer, metric: number, slot: number): Range | null {
  const value = row[1 + metric * slots + slot] ?? none;
  if (value === none) return null;
  const mean = value / 2;
  return { min: mean, mean, max: mean, count: row[countsInRow + slot] ?? 1 };
}

/** A metric in the hour of a row; null without a report. */
export function wholeHourOf(row: Buffer, metric: number): Range | null {
  const [min = none, mean = none, max = none] = row.subarray(hourlyAt + 3 * metric, hourlyAt + 3 * metric + 3);
  if (mean === none) return null;
  let count = 0;
  for (let slot = 0; slot < slots; slot++) count += slotOf(row, metric, slot)?.count ?? 0;
  return { min: min / 2, mean: mean / 2, max: max / 2, count };
}

/** Two ranges as one. Several processes may have received parts of the same hour. */
export function joined(a: Range | null, b: Range | null): Range | null {
  if (a === null || b === null) return a ?? b;
  const count = a.count + b.count;
  const mean = (a.mean * a.count + b.mean * b.count) / Math.max(1, count);
  return { min: Math.min(a.min, b.min), mean, max: Math.max(a.max, b.max), count };
}
