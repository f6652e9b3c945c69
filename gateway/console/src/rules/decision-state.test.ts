import { expect, it } from "@jest/globals";
import { decisionDetail, decisionState } from "./decision-state.ts";

it.each([
  ["2.4.3", "2.5.0", "window_closed", "waits"],
  ["2.4.3", "2.5.0", "policy_manual", "held"],
  ["2.4.3", "2.5.0", "auto_update_off", "held"],
  ["2.4.3", "2.5.0", "halted", "halted"],
  ["2.4.3", "2.5.0", "in_progress", "updating"],
  ["2.5.0", "2.5.0", "up_to_date", "up to date"],
  ["2.5.0", "2.5.0", "policy_manual", "up to date"],
  ["2.5.0", null, "no_target", "no target"],
  [null, null, "not_reported", "not reported"],
] as const)("a program that runs %s of target %s by the rule %s is shown as: %s", (current, target, rule, word) => {
  expect(decisionState({ current, target, rule }).as).toBe(word);
});

it("the version of a program that is up to date is not said again beside its state", () => {
  const details = [
    { rule: "up_to_date", detail: "Runs 2.5.0" },
    { rule: "ahead_of_target", detail: "Runs 2.5.0, newer than its target" },
  ] as const;
  expect(details.map(decisionDetail)).toEqual(["", "Runs 2.5.0, newer than its target"]);
});
