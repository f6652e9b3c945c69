import { describe, expect, it } from "@jest/globals";
import { factorGap, factorState } from "./factor-state.ts";

describe("the second factor of a user", () => {
  it.each([
    ["is on where there is one", "active", true, "on", "good"],
    ["is missing for an account that signs in without", "active", false, "missing", "warn"],
    ["is not missed before an invitation is accepted", "invited", false, "not yet", "off"],
  ])("%s", (_promise, status, mfaEnabled, word, tone) => {
    expect(factorState({ status, mfaEnabled })).toEqual({ word, tone });
  });
});

it.each([
  [0, null],
  [1, "1 person has no second factor."],
  [1_200, "1,200 people have no second factor."],
])("%d people without a second factor: %s", (count, words) => {
  expect(factorGap(count)).toBe(words);
});
