import { describe, expect, it } from "@jest/globals";
import { AppError, keyScopes, permissions } from "@muster/kit";
import { seededRoles } from "./catalogue.ts";
import { commonScopes, requireHeld, requireWithin, validScopes } from "./scope-ceiling.ts";

function refusal(fn: () => unknown): unknown {
  try {
    fn();
    return null;
  } catch (error) {
    return error instanceof AppError ? [error.code, error.facts.scopes] : error;
  }
}

describe("scopes of a request", () => {
  it.each<[string[], string[]]>([
    [[], []],
    [["devices:read", "devices:read"], ["devices:read"]],
    [
      ["scripts:execute", "devices:read"],
      ["devices:read", "scripts:execute"],
    ],
    [
      ["devices:read", "*"],
      ["*", "devices:read"],
    ],
  ])("%j are stored as %j", (requested, kept) => expect(validScopes(requested)).toEqual(kept));

  it.each([["devices:delete"], ["DEVICES:READ"], [""], ["*:*"], ["constructor"], ["__proto__"], ["users:write"]])(
    "%j is unknown",
    (scope) => expect(refusal(() => validScopes(["devices:read", scope]))).toEqual(["unknown_scope", [scope]]),
  );
});

describe("the scopes that a user may grant", () => {
  it.each<[string[], string[], string[]]>([
    [["devices:read"], ["devices:read", "logs:read"], []],
    [["devices:read"], ["devices:read", "devices:write"], ["devices:write"]],
    [[], [], []],
    [[], ["audit:read"], ["audit:read"]],
    [["organizations:read"], ["sites:read", "sites:write"], ["sites:write"]],
    [["devices:read", "devices:write"], ["*"], ["*"]],
    [["devices:read", "devices:write"], ["devices:write"], ["devices:write"]],
    [["devices:write", "devices:delete"], ["devices:write"], []],
    [[...permissions], ["*", ...keyScopes], []],
    [permissions.filter((permission) => permission !== "audit:append"), ["*", "audit:append"], ["audit:append"]],
  ])("holding %j, %j leaves %j denied", (held, scopes, denied) => {
    const expected = denied.length === 0 ? null : ["delegation_denied", denied];
    expect(refusal(() => requireHeld(held, scopes))).toEqual(expected);
  });

  it.each([
    ["platform-admin", true],
    ["partner-admin", true],
    ["org-admin", true],
    ["partner-technician", false],
    ["org-viewer", false],
  ])("role %s grants *: %s", (key, may) => {
    const role = seededRoles.find((seeded) => seeded.key === key);
    expect(refusal(() => requireHeld(role?.permissions ?? [], ["*"])) === null).toBe(may);
  });
});

describe("the ceiling of a principal", () => {
  it.each<[string[], string[], string[]]>([
    [["devices:read"], ["devices:read"], []],
    [["devices:read"], ["devices:write"], ["devices:write"]],
    [["devices:read"], ["*"], ["*"]],
    [["*"], ["devices:write", "*"], []],
    [["*"], ["audit:append", "*"], ["audit:append"]],
    [["*", "audit:append"], ["audit:append", "*"], []],
    [[], [], []],
  ])("%j keeps %j within, but %j", (ceiling, scopes, denied) => {
    const expected = denied.length === 0 ? null : ["delegation_denied", denied];
    expect(refusal(() => requireWithin(ceiling, scopes))).toEqual(expected);
  });

  it.each<[string[], string[], string[]]>([
    [["a", "b"], ["b", "c"], ["b"]],
    [["*"], ["a"], ["a"]],
    [["a"], ["*"], ["a"]],
    [["*"], ["*"], ["*"]],
    [["*"], ["audit:append"], []],
    [["*", "audit:append"], ["audit:append"], ["audit:append"]],
    [
      ["*", "audit:append"],
      ["audit:append", "*"],
      ["*", "audit:append"],
    ],
    [["a"], [], []],
    [[], ["*"], []],
  ])("%j and %j have %j in common", (a, b, common) => expect(commonScopes(a, b)).toEqual(common));
});
