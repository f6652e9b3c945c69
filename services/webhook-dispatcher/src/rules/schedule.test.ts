import { describe, expect, it } from "@jest/globals";
import type { RetrySchedule } from "./retry-schedule.ts";
import { retryAfterMs, retryDelayMs } from "./schedule.ts";

const standard = { policy: null, schedule: "standard" as const };
const noJitter = { percent: 0, share: 0 };

describe("the schedule", () => {
  it("is 1, 2, 4, 8, 16 s, then exhausted", () => {
    const delays = [1, 2, 3, 4, 5, 6].map((failures) => retryDelayMs(standard, failures, null, noJitter));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, null]);
  });

  it.each([
    [{ maxRetries: 20 }, 12, null, 0, 300_000],
    [{ maxRetries: 0 }, 1, null, 0, null],
    [{ initialDelayMs: 500, backoffMultiplier: 3 }, 2, null, 0, 1_500],
    [{}, 1, 5_000, 0, 5_000],
    [{}, 5, 5_000, 0, 16_000],
    [{}, 1, 3_600_000, 0, 300_000],
    [{}, 1, null, 0.2, 1_200],
    [{ initialDelayMs: 400_000, maxDelayMs: 400_000 }, 1, 900_000, 0, 400_000],
  ])(
    "of an operator counts before the users': policy %j, failure %i, Retry-After %j, jitter %d → %j ms",
    (policy, failures, after, jitter, expected) => {
      expect(retryDelayMs({ policy, schedule: "extended" }, failures, after, { percent: 100, share: jitter })).toBe(
        expected,
      );
    },
  );

  it("extended is of days", () => {
    const retries = { policy: null, schedule: "extended" as const };
    const delays = Array.from({ length: 10 }, (_, n) => retryDelayMs(retries, n + 1, null, noJitter));
    const seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    expect(delays).toEqual([...seconds.map((each) => each * 1_000), null]);
  });

  const own = (delaysSeconds: number[], jitterPercent = 0) => ({ delaysSeconds, jitterPercent });
  const hourMs = 3_600_000;
  it.each<[RetrySchedule, number, number | null, number, number | null]>([
    [own([7]), 1, null, 0, 7_000],
    [own([7]), 2, null, 0, null],
    [own([10], 20), 1, null, 1, 12_000],
    [own([86_400], 20), 1, null, 1, 86_400_000 * 1.2],
    // A schedule of less than a day waits five minutes for a receiver at most.
    [own([7]), 1, hourMs, 0, 300_000],
    [own([7, 86_399]), 1, hourMs, 0, hourMs],
    ["extended", 1, 48 * hourMs, 0, 24 * hourMs],
    ["extended", 9, hourMs, 0, 24 * hourMs],
    ["standard", 1, hourMs, 0, 300_000],
    ["standard", 1, null, 1, 1_000],
  ])("%j, failure %i, Retry-After %j, share of the jitter %d → %j ms", (schedule, failures, after, share, expected) => {
    expect(retryDelayMs({ policy: null, schedule }, failures, after, { percent: 0, share })).toBe(expected);
  });

  it.each([
    [429, "7", 7_000],
    [503, "Sat, 21 Nov 2026 00:00:10 GMT", 10_000],
    [503, "Sat, 21 Nov 2020 00:00:10 GMT", 0],
    [500, "7", null],
    [429, "soon", null],
    [429, undefined, null],
    [429, "-5", null],
  ])("Retry-After of %i %j is %j ms", (status, header, expected) => {
    expect(retryAfterMs(status, header, new Date("2026-11-21T00:00:00Z"))).toBe(expected);
  });
});
