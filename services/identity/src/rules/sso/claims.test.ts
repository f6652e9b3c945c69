import { describe, expect, it } from "@jest/globals";
import { type ClaimSource, oidcUser } from "./claims.ts";

const mapping = { email: "email", name: "name", firstName: "given_name", lastName: "family_name", groups: "groups" };
const userOf = (...sources: ClaimSource[]) => oidcUser("sub", sources, mapping);

describe("the user behind claims", () => {
  it.each<[string, unknown, boolean | null]>([
    ["true", true, true],
    ["a text", "true", true],
    ["false", false, false],
    ["false as text", "false", false],
    ["nothing", undefined, null],
    ["a number", 1, null],
    ["another text", "yes", null],
    ["a text in another case", "True", null],
    ["false in another case", "False", false],
    ["false as a number", 0, false],
    ["an object", { value: true }, null],
  ])("is verified when the provider says %s", (_case, said, verified) => {
    expect(userOf({ email: "a@b.example", email_verified: said }).emailVerified).toBe(verified);
  });

  it("gets address and verification from one source, the first that has an address", () => {
    const verified = { email: "b@b.example", email_verified: true };
    expect(userOf({ email: "a@b.example" }, verified)).toMatchObject({ email: "a@b.example", emailVerified: null });
    expect(userOf({ email_verified: true }, { email: "a@b.example" })).toMatchObject({ emailVerified: null });
    expect(userOf({ name: "A" }, verified)).toMatchObject({ email: "b@b.example", emailVerified: true, name: "A" });
  });

  it.each<[string, ClaimSource, ClaimSource]>([
    ["ID token", { email: "a@b.example", email_verified: false }, { email: "a@b.example", email_verified: true }],
    ["user info", { email: "a@b.example", email_verified: true }, { email: "a@b.example", email_verified: false }],
    ["ID token, as text", { email_verified: "false" }, { email: "a@b.example", email_verified: true }],
    ["user info without an address", { email: "a@b.example", email_verified: true }, { email_verified: false }],
  ])("is not verified when any source says so: %s", (_case, idToken, userInfo) => {
    expect(userOf(idToken, userInfo).emailVerified).toBe(false);
  });

  it("gets no verification of an address that comes from another claim", () => {
    const upn = { ...mapping, email: "upn" };
    expect(oidcUser("sub", [{ upn: "a@b.example", email_verified: true }], upn).emailVerified).toBeNull();
    expect(oidcUser("sub", [{ upn: "a@b.example", email_verified: false }], upn).emailVerified).toBe(false);
  });

  it.each<[string, ClaimSource, string | null]>([
    ["its name", { name: "Ada L", given_name: "A", family_name: "L" }, "Ada L"],
    ["first and last name without one", { given_name: "Ada", family_name: "L" }, "Ada L"],
    ["one of them", { given_name: "Ada" }, "Ada"],
    ["nothing that breaks a line", { name: "a\nb" }, null],
    ["nothing", {}, null],
  ])("is named by %s", (_case, claims, name) => {
    expect(userOf(claims).name).toBe(name);
  });

  it.each([
    ["a@b.example", true],
    ["a b@c.example", false],
    ["a", false],
    ["<a@b.example>", false],
    [["a@b.example"], false],
    [null, false],
  ])("has the address %j: %s", (email, has) => {
    expect(userOf({ email }).email !== null).toBe(has);
  });

  it("has at most 2,000 groups that are texts", () => {
    expect(userOf({ groups: ["a", 1, "b", null] }).groups).toEqual(["a", "b"]);
    expect(userOf({ groups: "a" }).groups).toEqual([]);
    expect(userOf({ groups: Array(3_000).fill("g") }).groups).toHaveLength(2_000);
  });
});

it("knows groups that a provider sends an address of from groups that there are none of", () => {
  const mapping = { email: "email", name: "name", groups: "groups" };
  const of = (claims: Record<string, unknown>) => oidcUser("sub", [claims], mapping).groupsElsewhere;
  expect(of({ _claim_names: { groups: "src1" }, _claim_sources: {} })).toBe(true);
  expect(of({ _claim_names: { groups: "src1" }, groups: ["a"] })).toBeUndefined();
  expect(of({ _claim_names: { roles: "src1" } })).toBeUndefined();
  expect(of({ _claim_names: null })).toBeUndefined();
});
