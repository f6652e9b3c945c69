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

const active = { status: "active", mfaEnabled: false };

it.each([
  ["one", [active, { ...active, mfaEnabled: true }], false, "1 person has no second factor."],
  ["several", [active, active], false, "2 people have no second factor."],
  ["those of a first page", [active], true, "1 person or more have no second factor."],
  [
    "nobody",
    [
      { ...active, mfaEnabled: true },
      { ...active, status: "invited" },
    ],
    false,
    undefined,
  ],
])("without a second factor: %s", (_who, accounts, hasMore, title) => {
  expect(factorGap(accounts, hasMore)?.title).toBe(title);
});
