import { describe, expect, it } from "@jest/globals";
import { latencyPoints, percentile } from "./latency.ts";

describe("the latency of deliveries", () => {
  it("rises in time, without deliveries that had no reply, and with the slowest of one instant", () => {
    const of = (createdAt: string, responseTimeMs: number | null) => ({ createdAt, responseTimeMs });
    expect(latencyPoints([of("b", 3), of("b", 7), of("c", null), of("a", 5)])).toEqual([
      { at: "a", values: [5] },
      { at: "b", values: [7] },
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
