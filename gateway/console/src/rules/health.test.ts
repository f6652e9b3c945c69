import { expect, it } from "@jest/globals";
import { providerHealth, shownHealth } from "./health.ts";

it.each([
  ["active", "healthy", "healthy", "good"],
  ["active", "failing", "failing", "bad"],
  ["active", "some_new_state", "some_new_state", "off"],
  ["paused", "failing", "paused", "warn"],
  ["failed", "failing", "failing", "bad"],
])("a record that is %s and %s is shown as %s", (status, health, word, tone) => {
  expect(shownHealth({ status, health: { status: health } })).toEqual({ word, tone });
});

it("a stream of which nothing is known is shown as healthy", () => {
  expect(shownHealth({ status: "active", health: null }).word).toBe("healthy");
});

it.each([
  ["active", null, "active"],
  ["active", "It does not answer", "failing"],
  ["testing", "It does not answer", "testing"],
  ["inactive", null, "inactive"],
])("a provider that is %s, with the problem %s of its metadata, is shown as %s", (status, samlMetadataError, word) => {
  expect(providerHealth({ status, samlMetadataError }).word).toBe(word);
});
