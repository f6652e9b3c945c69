import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { attributePath, filterMax, parseFilter, parsePatchPath } from "./filter.ts";

const core = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const path = (name: string, sub: string | null = null, urn: string | null = null) => ({ urn, name, sub });
const eq = (name: string, value: unknown) => ({ kind: "compare", path: path(name), operator: "eq", value });

const present = (name: string) => ({ kind: "present", path: path(name) });
function andOf(...of: unknown[]) {
  return { kind: "and", of };
}
function orOf(...of: unknown[]) {
  return { kind: "or", of };
}

function refusalOf(read: () => unknown): [string, unknown] | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.facts.scimType];
    throw error;
  }
}

describe("a filter", () => {
  it.each<[string, unknown]>([
    ['userName eq "ada"', eq("username", "ada")],
    ['USERNAME Eq "DOMAIN\\\\ada"', eq("username", "DOMAIN\\ada")],
    ['userName eq "\\u0041\\""', eq("username", 'A"')],
    ["active eq true", eq("active", true)],
    ['active eq "False"', eq("active", "False")],
    ["externalId eq null", eq("externalid", null)],
    ["a eq -1.5e3", eq("a", -1500)],
    ["title pr", { kind: "present", path: path("title") }],
    ['name.familyName co "L"', { kind: "compare", path: path("name", "familyname"), operator: "co", value: "L" }],
    [
      `${enterprise}:employeeNumber eq "1"`,
      { kind: "compare", path: path("employeenumber", null, enterprise.toLowerCase()), operator: "eq", value: "1" },
    ],
    ["a pr or b pr and c pr", orOf(present("a"), andOf(present("b"), present("c")))],
    ["(a pr or b pr) and c pr", andOf(orOf(present("a"), present("b")), present("c"))],
    ["not (a pr) and b pr", andOf({ kind: "not", of: present("a") }, present("b"))],
    [
      'emails[type eq "work" and value co "@"]',
      {
        kind: "values",
        path: path("emails"),
        of: andOf(eq("type", "work"), { kind: "compare", path: path("value"), operator: "co", value: "@" }),
      },
    ],
    [
      'emails[type eq "work"].value eq "ada@acme.example"',
      { kind: "values", path: path("emails"), of: andOf(eq("type", "work"), eq("value", "ada@acme.example")) },
    ],
  ])("%s is read", (text, expected) => {
    expect(parseFilter(text)).toEqual(expected);
  });

  it.each([
    "",
    "userName",
    "userName eq",
    "userName eq ada",
    'userName eq "ada',
    "userName is 1",
    'userName eq "a" extra',
    "(a pr",
    "a pr)",
    "a pr and",
    "not a pr",
    "a[b pr",
    'a eq "\\x"',
    "a eq [1]",
    `${core} pr`,
    `${"(".repeat(100)}a pr${")".repeat(100)}`,
    Array(300).fill("a pr").join(" or "),
    `a eq "${"x".repeat(filterMax)}"`,
  ])("%j is refused as invalidFilter", (text) => {
    expect(refusalOf(() => parseFilter(text))).toEqual(["scim_invalid", "invalidFilter"]);
  });
});

describe("the path of a PATCH", () => {
  it.each<[string, unknown]>([
    ["active", { ...path("active"), filter: null }],
    ["name.givenName", { ...path("name", "givenname"), filter: null }],
    ['emails[type eq "work"].value', { ...path("emails", "value"), filter: eq("type", "work") }],
    ['members[value eq "x"]', { ...path("members"), filter: eq("value", "x") }],
    [`${enterprise}:manager`, { ...path("manager", null, enterprise.toLowerCase()), filter: null }],
    [`${core}:name.familyName`, { ...path("name", "familyname", core.toLowerCase()), filter: null }],
    [enterprise, { urn: enterprise.toLowerCase(), name: null, sub: null, filter: null }],
  ])("%s is read", (text, expected) => {
    expect(parsePatchPath(text)).toEqual(expected);
  });

  it.each([
    "[",
    "emails[",
    'emails[type eq "work"]x',
    'name.x[a eq "b"]',
    "a b",
    'emails[type eq "work"].value.x',
    "1",
  ])("%j is refused as invalidPath", (text) => {
    expect(refusalOf(() => parsePatchPath(text))).toEqual(["scim_invalid", "invalidPath"]);
  });
});

it("splits names from URNs at their version", () => {
  expect(attributePath(`${enterprise}:manager.value`)).toEqual(path("manager", "value", enterprise.toLowerCase()));
  expect(attributePath("toString")).toEqual(path("tostring"));
});
