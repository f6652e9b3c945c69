import { expect, it } from "@jest/globals";
import { toggled } from "./selection.ts";

const keys = ["a", "b", "c", "d", "e"];

it.each([
  ["one row is added", [], "b", null, ["b"]],
  ["one row is taken out", ["b", "c"], "b", null, ["c"]],
  ["a range is added downwards", ["a"], "d", "b", ["a", "b", "c", "d"]],
  ["a range is added upwards", ["d"], "b", "d", ["b", "c", "d"]],
  ["a range is taken out as its last row is", ["a", "b", "c", "d"], "c", "b", ["a", "d"]],
  ["a range from a row that is gone is the row alone", [], "c", "z", ["c"]],
])("the selection: %s", (_what, chosen, key, from, after) => {
  expect([...toggled({ keys, chosen: new Set(chosen), key, from })].sort()).toEqual(after);
});
