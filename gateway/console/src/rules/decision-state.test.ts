import { expect, it } from "@jest/globals";
import { decisionState } from "./decision-state.ts";

it.each([
  ["2.4.3", "2.5.0", "waits"],
  ["2.5.0", "2.5.0", "up to date"],
  ["2.5.0", null, "no target"],
  [null, "2.5.0", "not reported"],
])("a program that runs %s of target %s is shown as: %s", (current, target, word) => {
  expect(decisionState({ current, target }).as).toBe(word);
});
