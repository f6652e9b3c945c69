import { expect, it } from "@jest/globals";
import { stackedBars } from "./bars.ts";

const box = { width: 100, height: 50 };

it("the tallest stack fills the box, the others are in proportion, one series on top of the other", () => {
  expect(
    stackedBars(
      [
        [3, 1],
        [2, 0],
      ],
      box,
    ),
  ).toEqual([
    [
      { x: 0, y: 12.5, width: 49, height: 37.5 },
      { x: 50, y: 25, width: 49, height: 25 },
    ],
    [{ x: 0, y: 0, width: 49, height: 12.5 }],
  ]);
});

it.each([
  ["no buckets", [], []],
  ["nothing in them", [[0, 0]], [[], []]],
])("a chart of %s has no bars", (_what, stacks, bars) => {
  expect(stackedBars(stacks as number[][], box)).toEqual(bars);
});
