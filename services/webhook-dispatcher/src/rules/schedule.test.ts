import { describe, expect, it } from "@jest/globals";
import { retryAfterMs, retryDelayMs } from "./schedule.ts";

describe("the schedule", () => {
  it("is 1, 2, 4, 8, 16 s, then exhausted", () => {
    const delays = [1, 2, 3, 4, 5, 6].map((failures) => retryDelayMs(null, failures, null, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, null]);
  });

  it.each([
    [{ maxRetries: 20 }, 12, null, 0, 300_000],
    [{ maxRetries: 0 }, 1, null, 0, null],
    [{ initialDelayMs: 500, backoffMultiplier: 3 }, 2, null, 0, 1_500],
    [null, 1, 5_000, 0, 5_000],
    [null, 5, 5_000, 0, 16_000],
    [null, 1, 3_600_000, 0, 300_000],
    [null, 1, null, 0.2, 1_200],
    [{ initialDelayMs: 400_000, maxDelayMs: 400_000 }, 1, 900_000, 0, 400_000],
  ])("policy %j, failure %i, Retry-After %j, jitter %d → %j ms", (policy, failures, after, jitter, expected) => {
    expect(retryDelayMs(policy, failures, after, jitter)).toBe(expected);
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
