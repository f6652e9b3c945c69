import { describe, expect, it } from "@jest/globals";
import { answerText } from "./answer.ts";

describe("the stored text of an answer", () => {
  it.each([
    ["nothing", Buffer.alloc(0), undefined, null],
    ["text", Buffer.from("ok"), undefined, "ok"],
    ["NUL characters replaced", Buffer.from("a\0b"), undefined, "a\ufffdb"],
    ["no compressed bytes", Buffer.from("x"), "gzip", "[gzip: not shown]"],
    ["no half character at the end", Buffer.from("aé").subarray(0, 2), undefined, "a"],
  ])("is %s", (_what, body, encoding, expected) => {
    expect(answerText(body, encoding)).toBe(expected);
  });

  it("is at most 1,000 characters, none of them truncated", () => {
    const text = answerText(Buffer.from("😀".repeat(1_200)), undefined) ?? "";
    expect([[...text].length, text.endsWith("😀")]).toEqual([1_000, true]);
  });
});
