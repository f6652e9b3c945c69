import { describe, expect, it } from "@jest/globals";
import { barCap, cutTo } from "./bar-cap.ts";

describe("the cut of a bar", () => {
  it.each([
    ["ends above the next one where one day stands far above all", [26, 30, 8, 66, 375], 99],
    ["is none while the highest is near the next", [26, 30, 250, 375], null],
    ["is none while the highest is usual", [30, 28, 32, 60], null],
    ["is none among few bars", [3, 0, 0, 90, 4], null],
    ["is none without a value", [], null],
  ])("%s", (_promise, sums, cap) => {
    expect(barCap(sums)).toBe(cap);
  });

  it("leaves each part its share", () => {
    expect(cutTo(100, [300, 100])).toEqual([75, 25]);
    expect(cutTo(100, [60, 40])).toEqual([60, 40]);
    expect(cutTo(null, [300, 100])).toEqual([300, 100]);
  });
});
