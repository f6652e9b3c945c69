import { expect, it } from "@jest/globals";
import { directoryHealth, providerHealth, shownHealth } from "./health.ts";

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
  ["active", "failing", "failing"],
  ["testing", "failing", "testing"],
  ["inactive", "healthy", "inactive"],
])("a provider that is %s and %s is shown as %s", (status, health, word) => {
  expect(providerHealth({ status, health: health === null ? null : { status: health } }).word).toBe(word);
});

it.each([
  ["active", "healthy", null, "no request yet"],
  ["active", "healthy", {}, "healthy"],
  ["active", "unreachable", null, "unreachable"],
  ["paused", "healthy", null, "paused"],
])("a directory that is %s and %s, with the cycle %j, is shown as %s", (status, health, lastCycle, word) => {
  expect(directoryHealth({ status, health: { status: health }, lastCycle }).word).toBe(word);
});
