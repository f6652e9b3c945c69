import { expect, test } from "@jest/globals";
import { runsOf } from "./runs.ts";

test("rows of the same text are one while they follow one another", () => {
  const runs = runsOf(["a 1", "a 2", "b 3", "a 4"], (row) => row.slice(0, 1));
  expect(runs.map(({ first, count }) => [first, count])).toEqual([
    ["a 1", 2],
    ["b 3", 1],
    ["a 4", 1],
  ]);
});

test("without rows there is none", () => expect(runsOf([], String)).toEqual([]));
