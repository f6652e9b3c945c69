import { expect, it } from "@jest/globals";
import { webhookHealth } from "./health.ts";

it.each([
  ["active", "healthy", "healthy", "good"],
  ["active", "failing", "failing", "bad"],
  ["active", "some_new_state", "some_new_state", "off"],
  ["paused", "failing", "paused", "warn"],
  ["failed", "failing", "failing", "bad"],
])("a webhook that is %s and %s is shown as %s", (status, health, word, tone) => {
  expect(webhookHealth({ status, health: { status: health } })).toEqual({ word, tone });
});
