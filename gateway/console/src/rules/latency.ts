import type { Point } from "./stacked.ts";

type Answered = { createdAt: string; responseTimeMs: number | null };
/** Spans of the same length, by when they begin. */
type Buckets = { buckets: readonly { at: string }[]; bucketSeconds: number };

/** The usual time until the reply in each bucket, in milliseconds; those without a reply are left out. */
export function latencyPoints(deliveries: readonly Answered[], { buckets, bucketSeconds }: Buckets): Point[] {
  return buckets.flatMap(({ at }) => {
    const fromMs = Date.parse(at);
    const isInside = ({ createdAt }: Answered) => {
      const ms = Date.parse(createdAt) - fromMs;
      return ms >= 0 && ms < bucketSeconds * 1_000;
    };
    const median = percentile(timesOf(deliveries.filter(isInside)), 50);
    return median === null ? [] : [{ at, values: [median] }];
  });
}

/** The milliseconds of all that were answered. */
export const timesOf = (deliveries: readonly Answered[]): number[] =>
  deliveries.flatMap(({ responseTimeMs }) => responseTimeMs ?? []);

/** The value that so many percent of all do not exceed; null of none. */
export function percentile(values: readonly number[], percent: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}
