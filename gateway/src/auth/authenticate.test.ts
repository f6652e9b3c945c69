import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import type { Access } from "../route/route.ts";
import { bearerToken, checkAccess } from "./authenticate.ts";
import { sessionOf } from "./principal.ts";

describe("bearerToken", () => {
  it.each([
    ["Bearer abc", "abc"],
    ["bearer abc", "abc"],
    ["BEARER  abc ", "abc"],
    ["Bearer ", null],
    ["Bearer", null],
    ["Basic abc", null],
    ["abc", null],
    ["", null],
    [null, null],
  ])("read from %j is %j", (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});

describe("checkAccess", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  const rules = { mfaMaxAgeMs: 480 * 60_000, mfaEnrollUrl: "https://muster.test/profile" };
  const check = (access: Access, change: object) => {
    const principal = create(PrincipalSchema, { scope: "system", permissions: ["organizations:write"], ...change });
    try {
      checkAccess(access, sessionOf(principal), rules, () => now);
    } catch (error) {
      const { code, facts } = error as { code: string; facts: object };
      return { code, ...facts };
    }
    return "allowed";
  };
  const strict: Access = { auth: "session", permission: "organizations:write", mfa: true, scopes: ["system"] };
  const mfaAt = (minutesAgo: number) => timestampFromDate(new Date(now - minutesAgo * 60_000));

  it.each([
    ["everything it takes", { mfaAt: mfaAt(1) }, "allowed"],
    ["a second factor at the edge of its age", { mfaAt: mfaAt(480) }, "allowed"],
    ["a second factor too old", { mfaAt: mfaAt(481) }, { code: "mfa_required", enrollUrl: rules.mfaEnrollUrl }],
    ["no second factor", {}, { code: "mfa_required", enrollUrl: rules.mfaEnrollUrl }],
    [
      "no second factor and no permission",
      { permissions: [] },
      { code: "permission_denied", required: "organizations:write" },
    ],
    ["another scope", { mfaAt: mfaAt(1), scope: "partner" }, { code: "scope_not_allowed", allowed: ["system"] }],
  ])("with %s", (_what, change, expected) => {
    expect(check(strict, change)).toEqual(expected);
  });

  const held = { secondFactorRequired: true };
  it.each<[string, Access, object, unknown]>([
    ["is refused what others may", { auth: "session" }, held, { code: "mfa_required", enrollUrl: rules.mfaEnrollUrl }],
    ["may enroll one", { auth: "session", beforeSecondFactor: true }, held, "allowed"],
    ["may ask who it is", { auth: "any" }, held, "allowed"],
    [
      "is a usual one once it was completed, however long ago",
      { auth: "session" },
      { ...held, mfaAt: mfaAt(9_000) },
      "allowed",
    ],
  ])("a session whose tenant requires a second factor %s", (_what, access, change, expected) => {
    expect(check(access, change)).toEqual(expected);
  });

  const users = { scope: "partner", partnerStatus: "active" };
  const customers = { scope: "organization", orgId: "o1", partnerStatus: "active", orgStatus: "active" };
  it.each([
    ["a partner's", users, "allowed"],
    [
      "a suspended partner's",
      { ...users, partnerStatus: "suspended" },
      { code: "partner_inactive", status: "suspended" },
    ],
    ["a pending partner's", { ...users, partnerStatus: "pending" }, { code: "partner_inactive", status: "pending" }],
    ["a deleted partner's", { ...users, partnerStatus: "deleted" }, { code: "partner_inactive", status: "deleted" }],
    ["a partner's without a known status", { ...users, partnerStatus: "unknown" }, { code: "unavailable" }],
    ["an organization's", customers, "allowed"],
    ["a trying organization's", { ...customers, orgStatus: "trial" }, "allowed"],
    [
      "a churned partner's customer's",
      { ...customers, partnerStatus: "churned" },
      { code: "partner_inactive", status: "churned" },
    ],
    [
      "a suspended organization's",
      { ...customers, orgStatus: "suspended" },
      { code: "organization_inactive", status: "suspended" },
    ],
    [
      "a churned organization's",
      { ...customers, orgStatus: "churned" },
      { code: "organization_inactive", status: "churned" },
    ],
    [
      "a deleted organization's",
      { ...customers, orgStatus: "deleted" },
      { code: "organization_inactive", status: "deleted" },
    ],
    ["an organization's without a known status", { ...customers, orgStatus: "unknown" }, { code: "unavailable" }],
    ["the platform's", { scope: "system" }, "allowed"],
  ])("checks the tenant's status of %s users before any other condition", (_whose, change, expected) => {
    const row: Access = { auth: "session", permission: "organizations:write" };
    expect(check(row, change)).toEqual(expected);
    expect(check({ auth: "session", whileInactive: true }, change)).toBe("allowed");
    if (expected !== "allowed") expect(check(row, { ...change, permissions: [] })).toEqual(expected);
  });

  it("rejects a user of scope organization without an organization as misconfigured", () => {
    const row: Access = { auth: "session", permission: "organizations:write" };
    expect(check(row, { scope: "organization" })).toEqual({ code: "misconfigured_account" });
    expect(check(row, { scope: "organization", orgId: "o1" })).toBe("allowed");
    expect(check({ auth: "session" }, { scope: "organization" })).toBe("allowed");
  });
});

describe("sessionOf", () => {
  const accessOf = (change: object) =>
    sessionOf(create(PrincipalSchema, { scope: "partner", ...change })).caller.orgAccess;

  it("has no organization in scope unless the grant names it", () => {
    expect(accessOf({ orgAccess: "all" })).toEqual({ mode: "all" });
    expect(accessOf({ orgAccess: "selected", orgIds: ["o1"] })).toEqual({ mode: "list", orgIds: ["o1"] });
    expect(accessOf({ orgAccess: "none", orgIds: ["o1"] })).toEqual({ mode: "list", orgIds: [] });
    expect(accessOf({ orgAccess: "", orgIds: ["o1"] })).toEqual({ mode: "list", orgIds: [] });
    expect(accessOf({ scope: "organization", orgId: "o1", orgAccess: "all" })).toEqual({
      mode: "list",
      orgIds: ["o1"],
    });
    expect(() => accessOf({ scope: "root" })).toThrow("unknown scope");
  });
});
