import { expect, it } from "@jest/globals";
import { haltingFailures } from "./halting-failures.ts";

const limits = { haltAfterFailures: 50, haltPercent: 3 };

it.each([
  ["three of three, which 3 % do not explain", limits, 3, 3],
  ["four of nine", limits, 9, 4],
  ["none of two: one of two is chance", limits, 2, 51],
  ["one beyond the number where the share tolerates all", { haltAfterFailures: 7, haltPercent: 100 }, 5, 8],
  ["three of many where nothing is tolerated", { haltAfterFailures: 50, haltPercent: 0 }, 1_000, 3],
  ["the number where it is reached before the share", { haltAfterFailures: 4, haltPercent: 50 }, 20, 11],
])("halts at %s", (_what, of, ended, failed) => {
  expect(haltingFailures(of, ended)).toBe(failed);
});

it("more updates tolerate more failures", () => {
  const at = [10, 100, 1_000, 10_000].map((ended) =>
    haltingFailures({ haltAfterFailures: 10_000, haltPercent: 3 }, ended),
  );
  expect(at).toEqual([...at].sort((a, b) => a - b));
  expect(at[3]).toBeGreaterThan(300);
  expect(at[3]).toBeLessThan(400);
});
