import { describe, expect, it } from "@jest/globals";
import { cookieOf } from "./cookies.ts";

describe("the value of a cookie", () => {
  it.each([
    ["no header", null, null],
    ["another cookie", "other=1", null],
    ["alone", "state=abc", "abc"],
    ["among others", "a=1; state=abc; b=2", "abc"],
    ["without spaces", "a=1;state=abc;b=2", "abc"],
    ["a value with =", "state=abc==", "abc=="],
    ["an empty value", "state=", ""],
    ["a longer name", "xstate=abc; state2=abc", null],
    ["a name in other letters", "State=abc", null],
    ["the same value twice", "state=abc; state=abc", "abc"],
    ["two values, one of which was planted", "state=abc; state=def", null],
    ["three values", "state=abc; state=def; state=abc", null],
    ["no equals sign", "state; a=1", null],
  ])("%s", (_case, header, value) => {
    expect(cookieOf(header, "state")).toBe(value);
  });
});
