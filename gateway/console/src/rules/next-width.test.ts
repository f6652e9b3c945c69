import { describe, expect, it } from "@jest/globals";
import { nextWidth } from "./next-width.ts";

describe("the column of next steps", () => {
  it.each([
    [[], "7.5rem"],
    [["Review"], "7.5rem"],
    [["Review", "Replace certificate …"], "11.5rem"],
  ])("with %j is %s wide", (texts, width) => {
    expect(nextWidth(texts)).toBe(width);
  });
});
