import { describe, expect, it } from "@jest/globals";
import { shareOf } from "./share-of.ts";

describe("a share", () => {
  it.each([
    ["is a whole percentage", 355, 653, "54 %"],
    ["of little is not nothing", 1, 653, "< 1 %"],
    ["of nearly all is not all", 652, 653, "> 99 %"],
    ["of nothing is nothing", 0, 0, "0 %"],
    ["of all is all", 3, 3, "100 %"],
  ])("%s", (_promise, part, whole, text) => {
    expect(shareOf(part, whole)).toBe(text);
  });
});
