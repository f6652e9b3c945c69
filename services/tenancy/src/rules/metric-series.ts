import { type AppError, validationError } from "@muster/kit";
import {
  type HistoryMetric,
  historyMetrics,
  hourMs,
  joined,
  type Range,
  slotMs,
  slotOf,
  wholeHourOf,
} from "./metric-hours.ts";

/** Steps of a series in seconds. */
export const metricSteps = [300, 900, 1_800, 3_600, 21_600, 86_400] as const;
/** 90 days of hours, or a week of five minutes. */
export const pointsMax = 2_200;

export type Period = { fromMs: number; toMs: number; stepMs: number };
export type Point = { atMs: number } & Record<HistoryMetric, Range | null>;

/**
 * A time in steps, its beginning moved back to one; throws `validation_failed` for a step that is none, an end before
 * its beginning, and more than 2,200 steps.
 */
export function periodOf(from: Date, to: Date, stepSeconds: number, leastSeconds = 300): Period {
  if (!metricSteps.some((step) => step === stepSeconds && step >= leastSeconds)) {
    throw validationError({
      step: [`One of ${metricSteps.filter((step) => step >= leastSeconds).join(", ")} seconds`],
    });
  }
  const stepMs = stepSeconds * 1_000;
  const fromMs = Math.floor(from.getTime() / stepMs) * stepMs;
  const toMs = to.getTime();
  if (Number.isNaN(fromMs)) throw validationError({ from: ["Not a time"] });
  if (!(toMs > from.getTime())) throw validationError({ to: ["Must be later than from"] });
  if ((toMs - fromMs) / stepMs > pointsMax) {
    throw validationError({ step: [`More than ${pointsMax} steps: choose a longer step or a shorter time`] });
  }
  return { fromMs, toMs, stepMs };
}

/** Rows of a device as points, oldest first; steps without any report are left out. */
export function seriesOf(rows: readonly { hour: number; packed: Buffer }[], { fromMs, toMs, stepMs }: Period): Point[] {
  const points = new Map<number, Point>();
  const add = (atMs: number, metric: number, range: Range | null) => {
    if (range === null || atMs < fromMs || atMs >= toMs) return;
    const start = Math.floor(atMs / stepMs) * stepMs;
    const point = points.get(start) ?? { atMs: start, cpu: null, memory: null, disk: null };
    const name = historyMetrics[metric] as HistoryMetric;
    point[name] = joined(point[name], range);
    points.set(start, point);
  };
  for (const { hour, packed } of rows) {
    for (let metric = 0; metric < historyMetrics.length; metric++) {
      if (stepMs >= hourMs) add(hour * hourMs, metric, wholeHourOf(packed, metric));
      for (let slot = 0; stepMs < hourMs && slot < hourMs / slotMs; slot++) {
        add(hour * hourMs + slot * slotMs, metric, slotOf(packed, metric, slot));
      }
    }
  }
  return [...points.values()].sort((a, b) => a.atMs - b.atMs);
}

/** Devices whose percentiles are computed at most. */
export const percentileDevicesMax = 50_000;

export const tooManyDevices = (): AppError =>
  validationError({ orgId: [`More than ${percentileDevicesMax} devices: narrow it by organization, site or group`] });
