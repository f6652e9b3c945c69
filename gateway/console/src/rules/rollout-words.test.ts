import { expect, it } from "@jest/globals";
import { doneWords, inFlightWords, kindWords, limitWords, shareWords } from "./rollout-words.ts";
import type { Wave } from "./waves.ts";

it.each([
  [{ kind: "guard", percent: 100, rings: [] }, "guard of the version: watches all of its updates"],
  [{ kind: "staged", percent: 5, rings: [] }, "5 % of the devices"],
  [{ kind: "staged", percent: 100, rings: [{}, {}, {}] }, "in 3 waves"],
  [{ kind: "staged", percent: 50, rings: [{}] }, "50 % of the devices, in 1 wave"],
])("a rollout %j includes: %s", (of, words) => {
  expect(shareWords(of)).toBe(words);
});

it.each([
  [{ kind: "guard", percent: 100, rings: [], openRings: 0 }, "Guard"],
  [{ kind: "staged", percent: 100, rings: [{}, {}, {}], openRings: 1 }, "Wave 1 of 3"],
  [{ kind: "staged", percent: 50, rings: [{}, {}], openRings: 2 }, "Wave 2 of 2, 50 %"],
  [{ kind: "staged", percent: 100, rings: [], openRings: 0 }, "100 %"],
])("the kind of a rollout %j is: %s", (of, words) => {
  expect(kindWords(of)).toBe(words);
});

const wave = (devices: number | null) => ({ devices }) as Wave;

it.each([
  ["all devices of its waves", 0, [wave(48), wave(1_200)], "35 of 1,248 devices updated"],
  ["what failed", 4, [wave(48)], "35 of 48 devices updated, 4 failed"],
  ["no number where nothing has counted the devices", 4, [wave(null)], "35 updated, 4 failed"],
])("how far a rollout is says %s", (_what, failed, waves, words) => {
  expect(doneWords({ succeeded: 35, failed }, waves)).toBe(words);
});

const updates = { state: "running", inFlight: 18, maxInFlight: 1_000, budget: 46, haltedParts: [] as unknown[] };

it.each([
  ["while it runs", {}, "18 devices updating now, at most 1,000; up to 46 more may start."],
  ["before the first", { inFlight: 0, budget: 5 }, "Up to 5 devices may start."],
  [
    "while a part is halted",
    { inFlight: 0, budget: 5, haltedParts: [{}] },
    "Up to 5 devices outside what is halted may start.",
  ],
  ["with nothing left to offer", { budget: 0 }, "18 devices updating now, at most 1,000."],
  ["when nothing goes on", { inFlight: 0, budget: 0 }, ""],
  ["after a halt", { state: "halted" }, "18 updates in progress will end."],
  ["after a halt without any", { state: "halted", inFlight: 0 }, ""],
])("what is in flight %s", (_when, changes, words) => {
  expect(inFlightWords({ ...updates, ...changes })).toBe(words);
});

it.each([
  [{ failed: 1, ended: 2, limit: 6 }, "1 of 2 failed, halts at 6"],
  [{ failed: 4, ended: 1_000, limit: 4 }, "4 of 1,000 failed, limit 4"],
])("failures against their limit: %j", (limit, words) => {
  expect(limitWords(limit)).toBe(words);
});
