import { expect, it } from "@jest/globals";
import { rolloutHealth, tellingRollout } from "./rollout-health.ts";

const sound = {
  kind: "staged",
  state: "running",
  haltedParts: [] as string[],
  succeeded: 20,
  failed: 0,
  failuresBeforeResume: 0,
  haltAfterFailures: 5,
  haltPercent: 5,
};

it.each([
  ["one that goes well", {}, "running", "run"],
  ["a guard that goes well", { kind: "guard" }, "watching", "good"],
  ["a guard with failures", { kind: "guard", failed: 4 }, "failing", "bad"],
  ["one that halted", { state: "halted" }, "halted", "bad"],
  ["one that halted for a part", { haltedParts: ["darwin/arm64"] }, "halted in part", "bad"],
  ["a paused one that halted for a part", { state: "paused", haltedParts: ["darwin/arm64"] }, "halted in part", "bad"],
  ["one with half of the failures that halt it", { failed: 4 }, "failing", "bad"],
  ["one with a single failure", { failed: 1 }, "running", "run"],
  ["one whose failures no longer count", { failed: 4, failuresBeforeResume: 4 }, "running", "run"],
  ["one that is over", { state: "completed", haltedParts: ["darwin/arm64"], failed: 4 }, "completed", "good"],
  ["one that was cancelled", { state: "cancelled" }, "cancelled", "off"],
])("%s has its own word", (_name, changes, word, tone) => {
  expect(rolloutHealth({ ...sound, ...changes })).toEqual({ word, tone });
});

it("a version is as the worst of its rollouts that go on", () => {
  const [guard, staged] = [
    { ...sound, id: "guard" },
    { ...sound, id: "staged", state: "halted" },
  ];
  expect(tellingRollout([guard, staged])?.id).toBe("staged");
  expect(tellingRollout([guard, { ...staged, state: "cancelled" }])?.id).toBe("guard");
  expect(tellingRollout([{ ...staged, state: "completed" }])?.id).toBe("staged");
  expect(tellingRollout([])).toBeNull();
});
