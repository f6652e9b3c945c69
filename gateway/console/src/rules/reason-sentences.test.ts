import { expect, it } from "@jest/globals";
import { fieldSentence, reasonSentence } from "./reason-sentences.ts";

it.each([
  ["not_https", "Use https: the address must begin with https://."],
  ["silent_after_return", "It installed the version, and was not heard of again."],
  ["some_new_reason", "Some new reason."],
  ["rolled back after 9 s: exit 78", "rolled back after 9 s: exit 78"],
  ["toString", "toString"],
  [null, ""],
])("the reason %j reads: %s", (reason, sentence) => {
  expect(reasonSentence(reason)).toBe(sentence);
});

it.each([
  ["Invalid webhook URL: not_https", "Invalid webhook URL. Use https: the address must begin with https://."],
  ["Invalid webhook URL: some_reason", "Invalid webhook URL. Some reason."],
  ["Must be at most 255 characters", "Must be at most 255 characters"],
])("the error text %j of a field reads: %s", (text, sentence) => {
  expect(fieldSentence(text)).toBe(sentence);
});
