import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import type { Caller } from "@muster/kit";
import { PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import { lacksSecondFactor, sessionOf, signedInUserOf } from "./principal.ts";

type Fields = MessageInitShape<typeof PrincipalSchema>;
const at = new Date("2026-06-01T12:00:00Z");
const principal = (change: Fields = {}) =>
  create(PrincipalSchema, {
    ...{ userId: "u1", email: "ada@example.com", name: "Ada", role: "admin", department: "IT" },
    ...{ scope: "partner", partnerId: "p1", orgAccess: "selected", orgIds: ["o1"], permissions: ["devices:read"] },
    ...{ sessionId: "s1", mfaAt: timestampFromDate(at) },
    ...change,
  });

describe("a signed-in user", () => {
  it("is a caller with what identity says of them, and null for what it does not", () => {
    const { caller, id } = sessionOf(principal());
    expect(id).toBe("s1");
    expect(caller).toEqual({
      actor: { type: "user", id: "u1", email: "ada@example.com", name: "Ada", role: "admin", department: "IT" },
      ...{ scope: "partner", partnerId: "p1", orgId: null, orgAccess: { mode: "list", orgIds: ["o1"] } },
      ...{ siteIds: null, permissions: ["devices:read"], mfaAt: at, sessionId: "s1", keyId: null },
    });
    const bare = { email: "", name: "", role: "", department: "", partnerId: "", mfaAt: undefined };
    expect(sessionOf(principal(bare)).caller).toMatchObject({
      actor: { email: null, name: null, role: null, department: null },
      ...{ partnerId: null, mfaAt: null },
    });
  });

  it.each<[string, Fields, Partial<Caller>]>([
    ["everything, of the system", { scope: "system" }, { orgAccess: { mode: "all" } }],
    ["all organizations of a partner", { orgAccess: "all" }, { orgAccess: { mode: "all" } }],
    ["no organization of a partner", { orgAccess: "none" }, { orgAccess: { mode: "list", orgIds: [] } }],
    ["none by a word that is unknown", { orgAccess: "most" }, { orgAccess: { mode: "list", orgIds: [] } }],
    [
      "their organization alone",
      { scope: "organization", orgId: "o2" },
      { orgAccess: { mode: "list", orgIds: ["o2"] } },
    ],
    ["none without an organization", { scope: "organization" }, { orgAccess: { mode: "list", orgIds: [] } }],
    ["every site", { siteIds: ["t1"] }, { siteIds: null }],
    ["their sites", { siteRestricted: true, siteIds: ["t1"] }, { siteIds: ["t1"] }],
    ["no site at all", { siteRestricted: true }, { siteIds: [] }],
  ])("reaches %s", (_, fields, expected) => {
    expect(sessionOf(principal(fields)).caller).toMatchObject(expected);
  });

  it("is refused with a scope that is unknown", () => {
    expect(() => sessionOf(principal({ scope: "galaxy" }))).toThrow('unknown scope "galaxy"');
  });

  it.each<[Fields, boolean]>([
    [{ secondFactorRequired: true, mfaAt: undefined }, true],
    [{ secondFactorRequired: true }, false],
    [{ secondFactorRequired: false, mfaAt: undefined }, false],
  ])("lacks a required second factor, case %#", (fields, expected) => {
    const of = principal(fields);
    expect([lacksSecondFactor(of), signedInUserOf(of).secondFactorRequired]).toEqual([expected, expected]);
  });
});
