import { describe, expect, it } from "@jest/globals";
import { latencyPoints, percentile } from "./latency.ts";

describe("the latency of deliveries", () => {
  it("is the usual one of each bucket, and of none without a reply", () => {
    const hour = (at: number) => `2026-01-01T0${at}:00:00.000Z`;
    const of = (createdAt: string, responseTimeMs: number | null) => ({ createdAt, responseTimeMs });
    const deliveries = [of(hour(2), 900), of("2026-01-01T02:59:59.999Z", 7), of(hour(3), null), of(hour(4), 5)];
    const buckets = [1, 2, 3, 4].map((at) => ({ at: hour(at) }));
    expect(latencyPoints([...deliveries, of("2026-01-01T02:30:00Z", 8)], { buckets, bucketSeconds: 3_600 })).toEqual([
      { at: hour(2), values: [8] },
      { at: hour(4), values: [5] },
    ]);
  });

  it.each([
    [[], null],
    [[4], 4],
    [Array.from({ length: 100 }, (_, at) => at + 1), 99],
  ])("the 99th percentile of %j", (values, expected) => {
    expect(percentile(values, 99)).toBe(expected);
  });
});
