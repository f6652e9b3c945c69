import { describe, expect, it } from "@jest/globals";
import { redirectPath } from "./redirect-path.ts";

describe("the page after a sign-in", () => {
  it.each([
    ["/", "/"],
    ["/devices", "/devices"],
    ["/devices?status=offline&q=a%20b", "/devices?status=offline&q=a%20b"],
    ["/a/b/c", "/a/b/c"],
    ["/a%2Fb", "/a%2Fb"],
    ["/a?next=%2F%2Fevil.test", "/a?next=%2F%2Fevil.test"],
    ["/é", "/%C3%A9"],
  ])("keeps %s", (wanted, path) => {
    expect(redirectPath(wanted)).toBe(path);
  });

  it.each([
    "",
    "devices",
    "//evil.test",
    "///evil.test",
    "/\\evil.test",
    "\\/evil.test",
    "/%2fevil.test",
    "/%2Fevil.test",
    "/%5cevil.test",
    "/%5Cevil.test",
    "http://evil.test",
    "https:evil.test",
    "javascript:alert(1)",
    "/a//b",
    "/\t/evil.test",
    "/\n/evil.test",
    " /a",
    "/a b",
    "/a\u0000",
    "/a#ssoCode=planted",
    "#a",
    "?a",
    "/..//evil.test",
    "/.//evil.test",
    "/a?b=//evil.test",
    `/${"a".repeat(500)}`,
    `/${"é".repeat(200)}`,
    "@evil.test",
    "/\u007fa",
    "data:text/html,a",
  ])("is / instead of %j", (wanted) => {
    expect(redirectPath(wanted)).toBe("/");
  });
});
