import { expect, it } from "@jest/globals";
import { textOn } from "./accent.ts";

it.each([
  ["#000000", "#ffffff"],
  ["#ffffff", "#000000"],
  ["#0a7c66", "#ffffff"],
  ["#ffd400", "#000000"],
  ["#1d4fd7", "#ffffff"],
  ["#ff7f50", "#000000"],
])("the text on a partner's accent %s is %s", (accent, text) => {
  expect(textOn(accent)).toBe(text);
});
