import { describe, expect, it } from "@jest/globals";
import { newUserCode, readUserCode, shownUserCode } from "./user-code.ts";

describe("a user code", () => {
  it("has eight letters without vowels and look-alikes, and is read as it is shown", () => {
    const codes = Array.from({ length: 1_000 }, newUserCode);
    for (const code of codes) {
      expect(code).toMatch(/^[B-Z]{8}$/);
      expect(code).not.toMatch(/[AEIOUY]/);
      expect(readUserCode(shownUserCode(code))).toBe(code);
    }
    expect(new Set(codes).size).toBe(codes.length);
  });

  it.each([
    ["WDJBMJHT", "WDJBMJHT"],
    ["wdjb-mjht", "WDJBMJHT"],
    [" wdjb mjht\n", "WDJBMJHT"],
    ["WDJB–MJHT", "WDJBMJHT"],
    ["WDJB-MJH", null],
    ["WDJB-MJHTT", null],
    ["WDJB-MJHA", null],
    ["WDJB-MJH0", null],
    ["", null],
    ["🙂".repeat(4), null],
  ])("is read from %j as %j", (typed, code) => {
    expect(readUserCode(typed)).toBe(code);
  });
});
