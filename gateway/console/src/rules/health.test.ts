import { expect, it } from "@jest/globals";
import { streamHealth, webhookHealth } from "./health.ts";

it.each([
  ["active", "healthy", "healthy", "good"],
  ["active", "failing", "failing", "bad"],
  ["active", "some_new_state", "some_new_state", "off"],
  ["paused", "failing", "paused", "warn"],
  ["failed", "failing", "failing", "bad"],
])("a webhook that is %s and %s is shown as %s", (status, health, word, tone) => {
  expect(webhookHealth({ status, health: { status: health } })).toEqual({ word, tone });
});

it.each([
  ["active", 0, "healthy"],
  ["active", 2, "failing"],
  ["failed", 0, "failing"],
  ["paused", 3, "paused"],
])("a stream that is %s after %d failures in a row is shown as %s", (status, consecutiveFailures, word) => {
  expect(streamHealth({ status, consecutiveFailures }).word).toBe(word);
});
