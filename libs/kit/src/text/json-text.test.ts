import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { memberText } from "./json-text.ts";

const space = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 });
/** JSON as programs write it: compact, indented, with numbers and texts that JSON.stringify would write otherwise. */
const valueText = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
  fc.constantFrom(
    "12345678901234567890",
    "1.0",
    "-0",
    "1E+2",
    '"\\u0061\\"}"',
    '"\\\\"',
    "[ ]",
    "{ }",
    '{"a":1,"a":2}',
  ),
);
/** The same name is written in several ways; others differ by a character. */
const nameText = fc.constantFrom(
  '"data"',
  '"d\\u0061ta"',
  '"\\u0064\\u0061\\u0074\\u0061"',
  '"dat"',
  '"data\\""',
  '""',
);
const members = fc.array(fc.record({ name: nameText, before: space, value: valueText, after: space }), {
  maxLength: 6,
});

describe("the text of a member", () => {
  it("is what was written for the member that JSON.parse takes, whatever stands around it", () => {
    fc.assert(
      fc.property(members, space, (entries, around) => {
        const inner = entries.map(
          ({ name, before, value, after }) => `${before}${name}${after}:${before}${value}${after}`,
        );
        const json = `${around}{${around}${inner.join(",")}}${around}`;
        const object = JSON.parse(json) as Record<string, unknown>;
        const last = entries.findLast(({ name }) => JSON.parse(name) === "data");
        expect(memberText(json, "data")).toBe(last?.value.trim() ?? null);
        if (last) expect(JSON.parse(memberText(json, "data") ?? "")).toEqual(object.data);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["within the depth", `{"data":${"[".repeat(31)}${"]".repeat(31)}}`, true],
    ["deeper", `{"data":${"[".repeat(32)}${"]".repeat(32)}}`, false],
    ["deeper in a member that a repeated name hides", `{"data":${"[".repeat(40)}${"]".repeat(40)},"data":{}}`, false],
    ["with brackets in a text", `{"data":["${"[{".repeat(40)}"]}`, true],
  ])("%s", (_what, json, isTaken) => {
    const read = () => memberText(json, "data", 32);
    if (isTaken) expect(read()).not.toBeNull();
    else expect(read).toThrow("Validation failed");
  });

  it("takes time in proportion to its length", () => {
    const long = "\\".repeat(500_000);
    const json = JSON.stringify({ data: long, more: `${long}"`.repeat(4) });
    const began = performance.now();
    expect(memberText(json, "data")).toBe(JSON.stringify(long));
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
