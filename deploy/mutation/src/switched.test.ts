import { describe, expect, it } from "@jest/globals";

type Mutant = { id: number; start: number; end: number; text: string };
const script = "../switched.mjs";
const { switched } = (await import(script)) as { switched: (source: string, mutants: Mutant[]) => string };

/** The function `source` with these texts of it changed, each under its position's number. */
function made(source: string, changes: [was: string, text: string][]) {
  const mutants = changes.map(([was, text], id) => {
    const start = source.indexOf(was);
    return { id, start, end: start + was.length, text };
  });
  const call = new Function(`return ${switched(source, mutants)}`)() as (...args: number[]) => unknown;
  return (active: number | null, ...args: number[]) => {
    Object.assign(globalThis, { musterMutant: (id: number) => id === active });
    try {
      return call(...args);
    } finally {
      Object.assign(globalThis, { musterMutant: undefined });
    }
  };
}

describe("a source with its mutants", () => {
  const rule = made("(a, b) => { if (a < 3 && b < 5) return true; return false; }", [
    ["a < 3 && b < 5", "!(a < 3 && b < 5)"],
    ["a < 3 && b < 5", "a < 3 || b < 5"],
    ["a < 3", "a <= 3"],
    ["5", "6"],
    ["true", "false"],
  ]);
  it.each([
    ["without one", null, [2, 4], true],
    ["the negation of what contains others", 0, [2, 4], false],
    ["another operator of the same expression", 1, [2, 9], true],
    ["what another contains", 2, [3, 4], true],
    ["the last of what another contains", 3, [2, 5], true],
    ["a value", 4, [2, 4], false],
  ])("behaves by the one that is on: %s", (_name, active, args, value) => {
    expect(rule(active, ...args)).toBe(value);
  });

  it("has the other values where another mutant is on", () => {
    expect(rule(2, 3, 5)).toBe(false);
    expect(rule(3, 3, 4)).toBe(false);
  });
});
