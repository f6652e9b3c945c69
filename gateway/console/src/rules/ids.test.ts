import { expect, it } from "@jest/globals";
import { isId, isRecordId } from "./ids.ts";

it.each([
  ["0198b1de-0000-7000-8000-000000000001", true],
  ["0198B1DE-0000-7000-8000-000000000001", true],
  ["dead-letters", false],
  ["0198b1de-0000-7000-8000-000000000001x", false],
  ["", false],
])("the text %j is an id: %s", (text, expected) => {
  expect(isId(text)).toBe(expected);
});

it.each([
  ["0198b1de-0000-7000-8000-000000000001", true],
  ["00000000-0000-0000-0000-000000000000", false],
  ["a script", false],
  [null, false],
])("the id %j of a row is that of a record: %s", (id, expected) => {
  expect(isRecordId(id)).toBe(expected);
});
