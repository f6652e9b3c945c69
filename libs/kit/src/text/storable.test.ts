import { describe, expect, it } from "@jest/globals";
import { storableJson, storableText, textError } from "./storable.ts";

const high = "\ud83d";
const low = "\ude00";

describe("a text from outside", () => {
  it.each([
    ["plain é \u{1f600}", "plain é \u{1f600}", null],
    ["a\0b", "a\ufffdb", "Must not contain NUL characters"],
    [`a${high}b`, "a\ufffdb", "Must be well-formed Unicode"],
    [`a${low}`, "a\ufffd", "Must be well-formed Unicode"],
    [`${low}${high}`, "\ufffd\ufffd", "Must be well-formed Unicode"],
    ["\\u0000", "\\u0000", null],
  ])("%j is stored as %j, and refused where it identifies something for %p", (text, stored, error) => {
    expect([storableText(text), textError(text)]).toEqual([stored, error]);
  });
});

describe("JSON from outside", () => {
  it.each([
    ['{"a":"\\u0000"}', '{"a":"\\ufffd"}'],
    ['{"a\\u0000":1}', '{"a\\ufffd":1}'],
    ['["\\ud83d\\ude00"]', '["\\ud83d\\ude00"]'],
    ['["\\uD83D\\uDE00 \\ud83d \\ude00"]', '["\\uD83D\\uDE00 \\ufffd \\ufffd"]'],
    ['["\\ud83d\\ud83d\\ude00"]', '["\\ufffd\\ud83d\\ude00"]'],
    ['["\\\\u0000"]', '["\\\\u0000"]'],
    ['["\\\\\\u0000"]', '["\\\\\\ufffd"]'],
    ['["\\u00e9\\n"]', '["\\u00e9\\n"]'],
    ['{"n":12345678901234567890,"f":1.0}', '{"n":12345678901234567890,"f":1.0}'],
  ])("%s is stored as %s", (json, stored) => {
    expect(storableJson(json)).toBe(stored);
  });

  it("stays JSON of the same meaning but for what cannot be stored", () => {
    const texts = ["a", "\0", high, low, `${high}${low}`, "\\", '"', "\\u0000", "\n"];
    for (const one of texts) {
      for (const two of texts) {
        const value = { [one]: [one + two, { [two]: null }] };
        const cleaned = { [storableText(one)]: [storableText(one + two), { [storableText(two)]: null }] };
        expect(JSON.parse(storableJson(JSON.stringify(value)))).toEqual(cleaned);
      }
    }
  });
});
