import { describe, expect, it } from "@jest/globals";
import canonicalizeExport from "canonicalize";
import { canonicalJson } from "./canonical-json.ts";

// The package's types declare an ES module, its code is CommonJS: the default export is the function itself.
const canonicalize = canonicalizeExport as unknown as (value: unknown) => string | undefined;

/** Arbitrary JSON from a seed, awkward keys, strings and numbers included. */
function arbitrary(seed: number): unknown {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  const texts = [
    "",
    "a",
    "B",
    "ü",
    "😀",
    "\u2028",
    '"',
    "\\",
    "\n",
    "\u001f",
    "\u007f",
    "\ufffd",
    "10",
    "9",
    "__proto__",
    "é",
  ];
  const numbers = [
    0,
    -0,
    1,
    -1,
    1.5,
    1e21,
    1e-7,
    5e-324,
    1.7976931348623157e308,
    0.1 + 0.2,
    2 ** 53 - 1,
    123456789.125,
  ];
  const make = (depth: number): unknown => {
    const kind = next(depth > 4 ? 4 : 6);
    if (kind === 0) return texts[next(texts.length)];
    if (kind === 1) return numbers[next(numbers.length)];
    if (kind === 2) return [true, false, null][next(3)];
    if (kind === 3) return `${texts[next(texts.length)]}${texts[next(texts.length)]}`;
    const size = next(6);
    if (kind === 4) return Array.from({ length: size }, () => make(depth + 1));
    return Object.fromEntries(Array.from({ length: size }, () => [texts[next(texts.length)], make(depth + 1)]));
  };
  return make(0);
}

describe("canonical JSON", () => {
  it("equals the reference package's output for a thousand arbitrary values", () => {
    for (let seed = 1; seed <= 1_000; seed++) {
      const value = [arbitrary(seed), { nested: arbitrary(seed * 7) }];
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }
  });

  it.each([0, 1, 2, 3, 15, 16, 17, 40])("sorts an object of %i keys, whatever their order", (count) => {
    const keys = Array.from({ length: count }, (_, n) => `k${(n * 7) % 41}`);
    for (const order of [keys, [...keys].reverse(), [...keys].sort()]) {
      const object = Object.fromEntries(order.map((key) => [key, key]));
      expect(canonicalJson(object)).toBe(canonicalize(object));
    }
  });

  it("sorts keys by UTF-16 code units (RFC 8785, 3.2.3)", () => {
    const keys = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
    const sorted = Object.keys(JSON.parse(canonicalJson(Object.fromEntries(keys.map((key) => [`k${key}`, 0])))));
    expect(sorted).toEqual(["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"].map((key) => `k${key}`));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n])("refuses %s", (value) => {
    expect(() => canonicalJson([value])).toThrow();
  });
});
