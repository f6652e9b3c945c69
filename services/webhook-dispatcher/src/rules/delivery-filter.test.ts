import { describe, expect, it } from "@jest/globals";
import { answerOf, bucketsOf } from "./delivery-filter.ts";

describe("the filter by answer", () => {
  it.each<[string, ReturnType<typeof answerOf>]>([
    ["", null],
    ["none", "none"],
    ["404", { from: 404, to: 404 }],
    ["5xx", { from: 500, to: 599 }],
  ])("%j means %j", (text, answer) => {
    expect(answerOf(text)).toEqual(answer);
  });

  it.each(["xx", "600", "5x", "5XX", "40", "4044", " 404", "None"])("%j is refused", (text) => {
    expect(() => answerOf(text)).toThrow("Validation failed");
  });
});

describe("buckets of the last hours", () => {
  const now = new Date("2026-01-31T12:34:56.789Z");
  it.each<[number, number, number, string]>([
    [1, 5, 12, "2026-01-31T11:35:00.000Z"],
    [4, 5, 48, "2026-01-31T08:35:00.000Z"],
    [5, 60, 5, "2026-01-31T08:00:00.000Z"],
    [24, 60, 24, "2026-01-30T13:00:00.000Z"],
    [48, 60, 48, "2026-01-29T13:00:00.000Z"],
    [168, 360, 28, "2026-01-24T18:00:00.000Z"],
  ])("for %d hours have %d minutes and are %d", (hours, minutes, count, first) => {
    const { bucketMs, starts, to } = bucketsOf(now, hours);
    expect([bucketMs / 60_000, starts.length, starts[0]?.toISOString(), to]).toEqual([minutes, count, first, now]);
    expect(starts.at(-1)?.getTime()).toBeLessThanOrEqual(now.getTime());
    expect((starts.at(-1)?.getTime() ?? 0) + bucketMs).toBeGreaterThan(now.getTime());
  });
});
