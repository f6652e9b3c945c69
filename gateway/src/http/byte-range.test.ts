import { describe, expect, it } from "@jest/globals";
import { byteRange } from "./byte-range.ts";

describe("a range of a file of 10 bytes", () => {
  it.each([
    [null, "all"],
    ["bytes=0-3", { start: 0, end: 4 }],
    ["bytes=4-", { start: 4, end: 10 }],
    ["bytes=-3", { start: 7, end: 10 }],
    ["bytes=-99", { start: 0, end: 10 }],
    ["bytes=9-99", { start: 9, end: 10 }],
    ["bytes=10-", "beyond"],
    ["bytes=-0", "beyond"],
    ["bytes=5-4", "all"],
    ["bytes=0-1,3-4", "all"],
    ["bytes=-", "all"],
    ["items=0-1", "all"],
    ["bytes=0x1-2", "all"],
  ])("%s is %j", (header, expected) => {
    expect(byteRange(header, 10)).toEqual(expected);
  });
});
