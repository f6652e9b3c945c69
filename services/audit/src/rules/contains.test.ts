import { describe, expect, it } from "@jest/globals";
import { containsPattern, jsonPatterns } from "./contains.ts";

describe("contains patterns", () => {
  it.each([
    ["abc", "%abc%"],
    ["100%", "%100\\%%"],
    ["a_b", "%a\\_b%"],
    ["c:\\d", "%c:\\\\d%"],
    ["%", "%\\%%"],
  ])("%s means exactly that", (text, pattern) => {
    expect(containsPattern(text)).toBe(pattern);
  });

  it("finds quotes and backslashes inside JSON strings too", () => {
    expect(jsonPatterns("Berlin")).toEqual(["%Berlin%"]);
    expect(jsonPatterns('say "hi"')).toEqual(['%say "hi"%', '%say \\\\"hi\\\\"%']);
  });
});
