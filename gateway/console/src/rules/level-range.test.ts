import { expect, it } from "@jest/globals";
import { levelRange } from "./level-range.ts";

it.each([
  [1_222, 1_589, 1_100],
  [38, 45, 36],
  [0, 37, 0],
  [12, 30, 0],
  [37, 37, 0],
])("levels from %d to %d are drawn from %d on, and to above the highest one", (least, most, from) => {
  const [begin, end] = levelRange(least, most);
  expect(begin).toBe(from);
  expect(end).toBeGreaterThan(most);
});

it("has an axis without any device", () => {
  expect(levelRange(0, 0)).toEqual([0, 1]);
});
