import { expect, it } from "@jest/globals";
import { mostCommon } from "./most-common.ts";

it.each([
  [["a", "b", null, "b"], { value: "b", count: 2 }],
  [["a", "b"], { value: "a", count: 1 }],
  [[null], null],
  [[], null],
])("most of %j are %j", (texts, expected) => {
  expect(mostCommon(texts)).toEqual(expected);
});
