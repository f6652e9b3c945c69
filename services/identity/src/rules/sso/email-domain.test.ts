import { describe, expect, it } from "@jest/globals";
import { asciiDomain, domainList, domainOf, isAllowedDomain, unclaimable } from "./email-domain.ts";

describe("a domain", () => {
  it.each([
    ["Acme.Example", "acme.example"],
    ["acme.example.", "acme.example"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["a.b.c.example", "a.b.c.example"],
  ])("%s is %s", (text, domain) => {
    expect(asciiDomain(text)).toBe(domain);
  });

  it.each([
    "",
    "acme",
    "acme..example",
    "-acme.example",
    "a b.example",
    "acme.example/x",
    "127.0.0.1",
    "[::1]",
    "*.acme.example",
    "acme_.example",
    `${"a".repeat(64)}.example`,
  ])("%j is not a domain", (text) => {
    expect(asciiDomain(text)).toBeNull();
  });

  it("is the part of an address after its last @", () => {
    expect(domainOf("ada@Acme.example")).toBe("acme.example");
    expect(domainOf('"a@b"@acme.example')).toBe("acme.example");
    expect([domainOf("ada"), domainOf("@acme.example"), domainOf("ada@")]).toEqual([null, null, null]);
  });

  it("lists are separated by commas, each once", () => {
    expect(domainList(" Acme.example, @b.example ,acme.example,")).toEqual(["acme.example", "b.example"]);
    expect(domainList("acme.example;b.example")).toBeNull();
    expect(domainList("")).toEqual([]);
  });

  it.each([
    ["ada@acme.example", ["acme.example"], true],
    ["ada@ACME.example", ["acme.example"], true],
    ["ada@sub.acme.example", ["acme.example"], false],
    ["ada@notacme.example", ["acme.example"], false],
    ["ada@acme.example.evil.test", ["acme.example"], false],
    ["ada@acme.example", [], true],
    ["ada", [], false],
  ])("%s among %j is allowed: %s", (email, allowed, is) => {
    expect(isAllowedDomain(email, allowed)).toBe(is);
  });

  it.each([
    ["acme.example", true],
    ["sub.acme.example", true],
    ["co.uk", false],
    ["github.io", false],
    ["gmail.com", false],
    ["mail.gmail.com", false],
    ["outlook.com", false],
  ])("%s can be claimed: %s", (domain, can) => {
    expect(unclaimable(domain) === null).toBe(can);
  });
});
