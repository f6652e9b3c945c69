import { expect, it } from "@jest/globals";
import { describe as described, describeLevels, stacked } from "./stacked.ts";

const points = [
  { at: "2026-01-01T00:00:00Z", values: [1, 2] },
  { at: "2026-01-02T00:00:00Z", values: [1_000, 0] },
];

it("the series of a chart stand on one another", () => {
  expect(stacked(points, 2)).toEqual([
    [1_767_225_600, 1_767_312_000],
    [1, 1_000],
    [3, 1_000],
  ]);
  expect(stacked([], 2)).toEqual([[], [], []]);
});

it("a chart is described by its totals and its peak", () => {
  const day = (at: Date) => at.toISOString().slice(0, 10);
  expect(described(points, ["Delivered", "Failed"], day)).toBe(
    "1,001 delivered, 2 failed; the most at 2026-01-02: 1,000.",
  );
  expect(described([], ["Delivered"], day)).toBe("0 delivered.");
});

it("levels are described by the last one, the least and the most", () => {
  expect(describeLevels(points, ["Online", "Offline"])).toBe(
    "online 1,000 at last, between 1 and 1,000; offline 0 at last, between 0 and 2.",
  );
  expect(describeLevels([], ["CPU"])).toBe("No value.");
});
