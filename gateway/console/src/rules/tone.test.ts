import { expect, it } from "@jest/globals";
import { type Tone, worstFirst } from "./tone.ts";

it("failing rows come first, then those that need attention; others keep their order", () => {
  const rows: [string, Tone][] = [
    ["a", "good"],
    ["b", "warn"],
    ["c", "off"],
    ["d", "bad"],
    ["e", "run"],
    ["f", "bad"],
  ];
  expect(worstFirst(rows, ([, tone]) => tone).map(([name]) => name)).toEqual(["d", "f", "b", "a", "c", "e"]);
});
