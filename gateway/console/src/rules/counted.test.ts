import { expect, it } from "@jest/globals";
import { counted } from "./counted.ts";

it.each([
  [1, "webhooks", "1 webhook"],
  [0, "webhooks", "0 webhooks"],
  [1, "directories", "1 directory"],
  [1, "people", "1 person"],
  [1_200, "people", "1,200 people"],
  [1, "API keys", "1 API key"],
])("%d of %s is %s", (count, plural, words) => {
  expect(counted(count, plural)).toBe(words);
});
