import { expect, it } from "@jest/globals";
import { isChainId, isSeq, linesOf } from "./note-lines.ts";

it.each([
  ["1", true],
  ["9007199254740991", true],
  ["9007199254740992", false],
  ["0", false],
  ["01", false],
  ["1.0", false],
  ["1e3", false],
  ["-1", false],
  ["", false],
])("a position %j of a note is read: %j", (text, isRead) => {
  expect(isSeq(text)).toBe(isRead);
});

it.each([
  ["018f0000-0000-7000-8000-00000000000a", true],
  ["018F0000-0000-7000-8000-00000000000A", false],
  ["018f000000007000800000000000000a", false],
])("a chain %j of a note is read: %j", (text, isRead) => {
  expect(isChainId(text)).toBe(isRead);
});

it("a note ends with a newline", () => {
  expect([linesOf("a\nb\n"), linesOf("a\nb"), linesOf("")]).toEqual([["a", "b"], [], []]);
});
