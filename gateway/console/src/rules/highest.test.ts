import { describe, expect, it } from "@jest/globals";
import { highest } from "./highest.ts";

describe("the highest of several values", () => {
  it.each([
    ["stands out from three times the median on", [30, 0, 28, 32, 290], { at: 4, times: 9 }],
    ["is not named while it is near the others", [30, 28, 32], null],
    ["is not named among none", [0, 0], null],
  ])("%s", (_promise, values, expected) => {
    expect(highest(values)).toEqual(expected);
  });
});
