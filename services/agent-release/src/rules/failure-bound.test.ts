import { describe, expect, it } from "@jest/globals";
import { exceedsShare } from "./failure-bound.ts";

describe("a share of failures", () => {
  // The first number of failures whose binomial tail is below 5e-4, computed in exact fractions.
  it.each([
    [1, 3, 3],
    [1, 100, 7],
    [1, 1_000, 23],
    [5, 5, 4],
    [5, 20, 6],
    [5, 100, 14],
    [10, 5, 4],
    [10, 16, 8],
    [10, 50, 14],
    [10, 1_000, 133],
    [20, 10, 8],
    [20, 87, 32],
    [20, 100, 35],
    [50, 20, 18],
    [50, 1_000, 553],
  ])("%i %% of %i ended updates is exceeded from %i failures on", (percent, ended, first) => {
    expect(exceedsShare(first - 1, ended, percent)).toBe(false);
    expect(exceedsShare(first, ended, percent)).toBe(true);
    expect(exceedsShare(ended, ended, percent)).toBe(true);
  });

  it.each([
    [10, 3],
    [20, 3],
    [50, 10],
    [100, 1_000],
    [120, 5],
  ])("%i %% is not exceeded when all of %i failed", (percent, ended) => {
    expect(exceedsShare(ended, ended, percent)).toBe(false);
  });

  it("none is exceeded by three failures, and by no fewer", () => {
    expect([2, 3].map((failed) => exceedsShare(failed, 1_000, 0))).toEqual([false, true]);
  });
});
