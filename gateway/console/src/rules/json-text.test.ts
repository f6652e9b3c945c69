import { expect, it } from "@jest/globals";
import { jsonObjectOf, jsonText } from "./json-text.ts";

it.each([
  ["an object", '{"type": "object"}', { value: { type: "object" } }],
  ["nothing", "  ", { value: null }],
  ["a list", "[1]", { problem: expect.stringMatching(/^This must be a JSON object/) }],
  ["null", "null", { problem: expect.stringMatching(/^This must be a JSON object/) }],
  ["a broken text", '{"type":', { problem: expect.stringMatching(/^This is no JSON: .*\.$/) }],
])("%s of a form", (_what, text, expected) => {
  expect(jsonObjectOf(text)).toEqual(expected);
});

it("an object is indented where it is changed, and nothing is empty", () => {
  expect([jsonText({ a: 1 }), jsonText(null)]).toEqual(['{\n  "a": 1\n}', ""]);
});
