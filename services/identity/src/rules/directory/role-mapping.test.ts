import { describe, expect, it } from "@jest/globals";
import { type MappingRule, mappedRole } from "./role-mapping.ts";

const rule = (id: string, roleId: string, more: Partial<MappingRule> = {}): MappingRule => ({
  id,
  groupId: id,
  claim: null,
  roleId,
  siteIds: null,
  isGranted: true,
  ...more,
});
const of = (groupIds: string[], claims: string[] = []) => ({ groupIds, claims });

describe("the role that a mapping gives", () => {
  it("is that of the first matching row, whatever comes after it", () => {
    const rules = [rule("a", "viewer"), rule("b", "admin")];
    expect(mappedRole(rules, of(["b", "a"]), null)).toEqual({ roleId: "viewer", siteIds: null, ruleId: "a" });
    expect(mappedRole(rules, of(["b"]), "viewer")).toEqual({ roleId: "admin", siteIds: null, ruleId: "b" });
  });

  it("has the sites of all matching rows of that role; one without sites means all", () => {
    const rules = [
      rule("a", "r", { siteIds: ["1"] }),
      rule("b", "other"),
      rule("c", "r", { siteIds: ["2", "1"] }),
      rule("d", "r"),
    ];
    expect(mappedRole(rules, of(["a", "b", "c"]), null)?.siteIds).toEqual(["1", "2"]);
    expect(mappedRole(rules, of(["a", "d"]), null)?.siteIds).toBeNull();
  });

  it("is the default without a match, or none", () => {
    expect(mappedRole([rule("a", "r")], of([]), "default")).toEqual({ roleId: "default", siteIds: null, ruleId: null });
    expect(mappedRole([rule("a", "r")], of([]), null)).toBeNull();
  });

  it("is never that of a row whose author may not grant it any more", () => {
    expect(mappedRole([rule("a", "admin", { isGranted: false }), rule("b", "r")], of(["a", "b"]), null)?.roleId).toBe(
      "r",
    );
    expect(mappedRole([rule("a", "admin", { isGranted: false })], of(["a"]), null)).toBeNull();
  });

  it("follows claims, which are no ids of groups", () => {
    const rules = [rule("x", "r", { groupId: null, claim: "staff" })];
    expect(mappedRole(rules, of([], ["staff"]), null)?.ruleId).toBe("x");
    expect(mappedRole(rules, of(["staff"]), null)).toBeNull();
  });
});
