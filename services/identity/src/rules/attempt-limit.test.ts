import { describe, expect, it } from "@jest/globals";
import { attemptsLeft, limitedUntilMs, withFailures } from "./attempt-limit.ts";

const limit = { max: 3, windowMs: 1_000 };

describe("a limit on failures", () => {
  it.each([
    ["nothing failed", [], 5_000, null, 3],
    ["one below the limit", [4_500, 4_600], 5_000, null, 1],
    ["the limit is reached: until the oldest leaves", [4_500, 4_600, 4_700], 5_000, 5_500, 0],
    ["in any order", [4_700, 4_500, 4_600], 5_000, 5_500, 0],
    ["the last millisecond of the window", [4_500, 4_600, 4_700], 5_499, 5_500, 0],
    ["the oldest has just left", [4_500, 4_600, 4_700], 5_500, null, 1],
    ["more than the limit: the last three decide", [4_200, 4_500, 4_600, 4_700], 5_000, 5_500, 0],
    ["a clock that is behind the one that counted", [5_100, 5_100, 5_100], 5_000, 6_100, 0],
  ])("%s", (_name, failedAt, nowMs, until, left) => {
    expect(limitedUntilMs(failedAt, limit, nowMs)).toBe(until);
    expect(attemptsLeft(failedAt, limit, nowMs)).toBe(left);
  });

  it.each([
    ["the first", [], 1, [5_000]],
    ["what has left the window goes", [4_000, 4_500], 1, [4_500, 5_000]],
    ["several at once", [4_500], 2, [4_500, 5_000, 5_000]],
    ["no more than decide are kept", [4_500, 4_600], 5, [5_000, 5_000, 5_000]],
  ])("keeps %s", (_name, failedAt, times, kept) => {
    expect(withFailures(failedAt, limit, 5_000, times)).toEqual(kept);
  });

  it("admits exactly the limit in any window, with the clock moved a millisecond at a time", () => {
    let failedAt: number[] = [];
    const admitted: number[] = [];
    for (let nowMs = 10_000; nowMs < 14_000; nowMs++) {
      if (limitedUntilMs(failedAt, limit, nowMs) !== null) continue;
      admitted.push(nowMs);
      failedAt = withFailures(failedAt, limit, nowMs);
    }
    for (const at of admitted) {
      expect(admitted.filter((other) => other > at - limit.windowMs && other <= at).length).toBeLessThanOrEqual(3);
    }
    expect(admitted).toHaveLength(12);
  });
});
