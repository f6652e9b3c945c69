import type { Point } from "./stacked.ts";

type Answered = { createdAt: string; responseTimeMs: number | null };

/** The replies in the order of their deliveries, in milliseconds; deliveries of one millisecond are one point. */
export function latencyPoints(newestFirst: readonly Answered[]): Point[] {
  const byTime = new Map<string, number>();
  for (const { createdAt, responseTimeMs } of newestFirst) {
    if (responseTimeMs !== null) byTime.set(createdAt, Math.max(responseTimeMs, byTime.get(createdAt) ?? 0));
  }
  return [...byTime].sort(([a], [b]) => a.localeCompare(b)).map(([at, ms]) => ({ at, values: [ms] }));
}

/** The value that so many percent of all do not exceed; null of none. */
export function percentile(values: readonly number[], percent: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}
