import { expect, it } from "@jest/globals";
import { deepestDip } from "./dip.ts";

it.each([
  ["a dip", [100, 101, 60, 99, 100], { at: 2, fewer: 40 }],
  ["a level that stays near its median", [100, 97, 99, 100], null],
  ["a fleet that grows from nothing", [0, 50, 100, 100], null],
  ["a span that has not ended", [100, 100, 100, 20], null],
  ["a dip before a span that has not ended", [100, 100, 60, 99, 100, 20], { at: 2, fewer: 40 }],
  ["nothing", [], null],
])("%s", (_what, levels, dip) => {
  expect(deepestDip(levels)).toEqual(dip);
});
