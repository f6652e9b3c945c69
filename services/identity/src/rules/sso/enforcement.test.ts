import { expect, it } from "@jest/globals";
import { saysMfa } from "./amr.ts";
import { enforcementOf } from "./enforcement.ts";

const provenAt = new Date("2026-01-31T12:00:00Z");
const proven = { enforceSso: true, status: "active", provenAt };

it.each([
  ["an active provider that an administrator has used", {}, { inForce: true, reason: null }],
  ["one that does not want it", { enforceSso: false }, { inForce: false, reason: "not_wanted" }],
  ["one that is tried", { status: "testing" }, { inForce: false, reason: "not_active" }],
  ["one that no administrator has used", { provenAt: null }, { inForce: false, reason: "not_proven" }],
])("passwords are refused or not by %s", (_what, change, expected) => {
  expect(enforcementOf({ ...proven, ...change })).toEqual(expected);
});

it.each([
  [["pwd", "mfa"], true],
  [["pwd", "otp"], false],
  [[], false],
  ["mfa", false],
  [undefined, false],
])("a sign-in by %j had more than one factor: %s", (amr, expected) => {
  expect(saysMfa(amr)).toBe(expected);
});
