import { describe, expect, it } from "@jest/globals";
import { accountState, factorGap, factorState } from "./factor-state.ts";

describe("the second factor of a user", () => {
  it.each([
    ["is on where there is one", "active", true, "on", "good"],
    ["is missing for an account that signs in without", "active", false, "missing", "warn"],
    ["is not missed before an invitation is accepted", "invited", false, "not yet", "off"],
  ])("%s", (_promise, status, mfaEnabled, word, tone) => {
    expect(factorState({ status, mfaEnabled, managedBy: null })).toEqual({ word, tone });
  });
});

describe("an account", () => {
  it.each([
    ["with both factors is active", "active", true, "active", "good", null],
    [
      "with a password alone lacks a factor first of all",
      "active",
      false,
      "no second factor",
      "warn",
      "Active, with a password alone",
    ],
    ["that waits for its person is invited", "invited", false, "invited", "run", null],
    ["that is disabled asks for nothing", "disabled", true, "disabled", "off", null],
  ])("%s", (_promise, status, mfaEnabled, word, tone, note) => {
    expect(accountState({ status, mfaEnabled, managedBy: null })).toEqual({ word, tone, note });
  });

  it("managed by a directory is active without a factor of ours", () => {
    const managed = { status: "active", mfaEnabled: false, managedBy: { name: "Okta" } };
    expect(accountState(managed)).toEqual({ word: "active", tone: "good", note: "Managed by Okta" });
    expect(factorState(managed)).toEqual({ word: "not yet", tone: "off" });
  });
});

it.each([
  [0, true, null],
  [0, false, null],
  [1, true, "1 person has no second factor."],
  [1_200, true, "1,200 people have no second factor."],
  [37, false, "At least 37 people have no second factor."],
])("%d people without a second factor, all of them counted: %s, are: %s", (count, isAll, words) => {
  expect(factorGap(count, isAll)).toBe(words);
});
