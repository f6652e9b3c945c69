import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { changedNumbers, parseKeepingNumbers } from "./json-numbers.ts";

const pathsOf = (json: string) => changedNumbers(json, ["a", "de"]);

describe("numbers that JSON.parse changes", () => {
  it.each([
    "12345678901234567890",
    "9007199254740993",
    "-9007199254740993",
    "0.10000000000000000001",
    "1e400",
    "1E+400",
    "1e-400",
  ])("include %s", (number) => expect(pathsOf(`{"a":${number}}`)).toEqual(["a"]));

  it.each([
    "9007199254740992",
    "0.1",
    "0.30000000000000004",
    "1.00000000000000000000",
    "100000000000000000000",
    "5e-324",
    "1.7976931348623157E+308",
    "1E2",
    "-0",
    "0e999",
    "0.000000000000000000000000000001",
  ])("do not include %s", (number) => expect(pathsOf(`{"a":${number}}`)).toEqual([]));

  it("are found by their paths, in texts that look like numbers not at all", () => {
    const big = "12345678901234567890";
    const json = String.raw`{"a":[1,{"b c":${big}},"x:${big}, \":${big}"],"d\u0065":{"f": [ ${big} , 2, -${big}]},"${big}":":","other":${big}}`;
    expect(pathsOf(json)).toEqual(["a.1.b c", "de.f.0", "de.f.2"]);
  });

  it("are 20 at most, however many there are and however deep", () => {
    const many = `[${"12345678901234567890,".repeat(50_000)}1]`;
    expect(pathsOf(`{"other":${many},"a":${many}}`)).toHaveLength(20);
    expect(pathsOf(`{"a":${"[".repeat(50_000)}12345678901234567890${"]".repeat(50_000)}}`)).toHaveLength(1);
  });

  it("are none in what JSON.stringify wrote", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.double({ noDefaultInfinity: true, noNaN: true }), (value, number) => {
        expect(pathsOf(JSON.stringify({ a: value, de: number }))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("change when their decimals differ after parsing and writing", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), (number) => {
        const isChanged = BigInt(JSON.stringify(Number(number))) !== number;
        expect(pathsOf(`{"a":[${number}]}`)).toEqual(isChanged ? ["a.0"] : []);
      }),
    );
  });
});

describe("JSON that is parsed with its numbers kept", () => {
  const rewritten = (json: string) => {
    const { value, textOf } = parseKeepingNumbers(json);
    return textOf(value);
  };

  it.each([
    ["long numbers", `{"a":[12345678901234567890,{"b":-0.10000000000000000001}],"c":1}`],
    ["texts that look like them", `{"a":"12345678901234567890","b":"x,12345678901234567890","c":12345678901234567890}`],
    ["nothing special", '{"a":[1,"x",null]}'],
  ])("is written as it was with %s", (_what, json) => expect(rewritten(json)).toBe(json));

  it.each([
    ["an exponent", "1.2345678901234567890e-300", "1.2345678901234568e-300"],
    ["more than 100 digits", "1".repeat(101), String(Number("1".repeat(101)))],
    ["the mark in a text", '12345678901234567890,"b":"\uFDD01"', '12345678901234567000,"b":"\uFDD01"'],
  ])("has the nearest double with %s", (_what, literal, kept) =>
    expect(rewritten(`{"a":${literal}}`)).toBe(`{"a":${kept}}`),
  );

  it("never changes what JSON.stringify wrote, nor the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: 10n ** 17n }), (value, number) => {
        const json = `{"value":${JSON.stringify(value)},"number":${number}}`;
        if (!json.includes("\uFDD0") && `${number}`.length <= 100) expect(rewritten(json)).toBe(json);
      }),
    );
  });
});
