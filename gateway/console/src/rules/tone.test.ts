import { expect, it } from "@jest/globals";
import { type Tone, worstFirst } from "./tone.ts";

it("failing rows come first, quiet ones last; those of one tone keep their order", () => {
  const rows: [string, Tone][] = [
    ["a", "good"],
    ["b", "warn"],
    ["c", "off"],
    ["d", "bad"],
    ["e", "run"],
    ["f", "bad"],
  ];
  expect(worstFirst(rows, ([, tone]) => tone).map(([name]) => name)).toEqual(["d", "f", "b", "e", "a", "c"]);
});
