import { expect, it } from "@jest/globals";
import { greeting, needsSentence } from "./greeting.ts";

it.each([
  ["Ada Lindqvist", 4, "Good evening, Ada"],
  ["Ada Lindqvist", 5, "Good morning, Ada"],
  ["Ada", 12, "Good afternoon, Ada"],
  ["  ", 18, "Good evening"],
])("a user named %j is greeted at %d with %s", (name, hour, text) => {
  expect(greeting(name, hour)).toBe(text);
});

it.each([
  [0, "Nothing needs attention."],
  [1, "1 thing needs attention. Everything else is running."],
  [3, "3 things need attention. Everything else is running."],
])("%d needs: %s", (count, text) => {
  expect(needsSentence(count)).toBe(text);
});
