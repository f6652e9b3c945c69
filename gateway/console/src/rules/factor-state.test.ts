import { describe, expect, it } from "@jest/globals";
import { factorState } from "./factor-state.ts";

describe("the second factor of a user", () => {
  it.each([
    ["is on where there is one", "active", true, "on", "good"],
    ["is missing for an account that signs in without", "active", false, "missing", "warn"],
    ["is not missed before an invitation is accepted", "invited", false, "not yet", "off"],
  ])("%s", (_promise, status, mfaEnabled, word, tone) => {
    expect(factorState({ status, mfaEnabled })).toEqual({ word, tone });
  });
});
