import { describe, expect, it } from "@jest/globals";
import { nameError } from "./name.ts";

describe("a name", () => {
  it.each([
    "Ada Lovelace",
    "Müller & Söhne GmbH",
    "O’Brien",
    "李小龙",
    "葛\u{e0100}城",
    "محمد",
    "می‌خواهم",
    "क्‍ष",
    "Family 👨‍👩‍👧 ❤️ 1️⃣",
    "🏳️‍🌈",
    "x".repeat(255),
    "😀".repeat(255),
  ])("may be %s", (name) => {
    expect(nameError(name)).toBeNull();
  });

  it.each([
    ["nothing", ""],
    ["white space alone", " \u00a0 "],
    ["more than 255 characters", "x".repeat(256)],
    ["NUL", "a\0b"],
    ["a line break", "a\nb"],
    ["an escape", "a\u001bb"],
    ["a control of the upper half", "a\u0085b"],
    ["a line separator", "a\u2028b"],
    ["a paragraph separator", "a\u2029b"],
    ["half a character", "a\ud800b"],
    ["a zero-width space", "a\u200bb"],
    ["a zero-width joiner between Latin letters", "a\u200db"],
    ["a zero-width non-joiner between Latin letters", "a\u200cb"],
    ["a joiner at its end", "محمد\u200d"],
    ["a word joiner", "a\u2060b"],
    ["a byte order mark", "a\ufeffb"],
    ["a soft hyphen", "a\u00adb"],
    ["a mark of direction", "a\u200eb"],
    ["an override of direction", "a\u202eb"],
    ["an isolate of direction", "a\u2066b"],
    ["an Arabic letter mark", "a\u061cb"],
    ["a Hangul filler", "a\u3164b"],
    ["an empty Braille cell", "\u2800"],
    ["a tag", "a\u{e0041}b"],
    ["a variation selector of nothing", "a\ufe0fb"],
    ["a grapheme joiner", "a\u034fb"],
  ])("may not hold %s", (_what, name) => {
    expect(nameError(name)).not.toBeNull();
  });
});
