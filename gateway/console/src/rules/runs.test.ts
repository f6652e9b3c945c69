import { expect, test } from "@jest/globals";
import { groupsOf, runsOf } from "./runs.ts";

const rows = ["a 1", "a 2", "b 3", "a 4"];
const textOf = (row: string) => row.slice(0, 1);

test("rows of the same text are one while they follow one another", () => {
  const runs = runsOf(rows, textOf);
  expect(runs.map(({ first, rest, count }) => [first, rest, count])).toEqual([
    ["a 1", ["a 2"], 2],
    ["b 3", [], 1],
    ["a 4", [], 1],
  ]);
});

test("rows of the same text are one wherever they stand", () => {
  const groups = groupsOf(rows, textOf);
  expect(groups.map(({ first, rest, count }) => [first, rest, count])).toEqual([
    ["a 1", ["a 2", "a 4"], 3],
    ["b 3", [], 1],
  ]);
});

test.each([
  ["a run", runsOf],
  ["a group", groupsOf],
])("without rows there is not %s", (_name, of) => expect(of([], String)).toEqual([]));
