import { describe, expect, it } from "@jest/globals";
import type { AssertionFacts } from "./assertion-error.ts";
import { contextSaysMfa, samlUser } from "./saml-user.ts";

const emailFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const uri = (name: string) => `http://schemas.xmlsoap.org/ws/2005/05/identity/claims/${name}`;

const facts = (
  attributes: Record<string, string[]>,
  nameId: AssertionFacts["nameId"] = { value: " ada ", format: null },
): AssertionFacts => ({
  id: "_1",
  version: "2.0",
  issueInstant: "",
  issuer: "",
  nameId,
  confirmations: [],
  conditions: { notBefore: null, notOnOrAfter: null, audiences: [], hasUnknown: false },
  statements: [{ sessionNotOnOrAfter: null, context: "urn:x" }],
  attributes: new Map(Object.entries(attributes)),
});

const defaults = { mapping: null, subjectAttribute: null };

describe("the user behind an assertion", () => {
  it("is identified by the attribute that is set, whatever the NameID is", () => {
    const reading = { mapping: null, subjectAttribute: "subject-id" };
    const attributes = { "subject-id": [" ada@acme "] };
    for (const nameId of [{ value: "x", format: null }, null]) {
      expect(samlUser(facts(attributes, nameId), reading).externalId).toBe("ada@acme");
    }
  });

  it.each<[string, Record<string, string[]>, string | null, string | null]>([
    ["claim URIs", { [uri("emailaddress")]: ["a@b.example"], [uri("name")]: ["Ada"] }, "a@b.example", "Ada"],
    [
      "urn:oid names",
      { "urn:oid:0.9.2342.19200300.100.1.3": ["a@b.example"], "urn:oid:2.16.840.1.113730.3.1.241": ["Ada"] },
      "a@b.example",
      "Ada",
    ],
    ["first and last name", { [uri("givenname")]: ["Ada"], "urn:oid:2.5.4.4": ["Lovelace"] }, null, "Ada Lovelace"],
    ["attributes of other names", { email: ["a@b.example"], name: ["Ada"] }, null, null],
    ["empty attributes", { [uri("emailaddress")]: [], [uri("name")]: [""] }, null, null],
  ])("is read from %s", (_case, attributes, email, name) => {
    expect(samlUser(facts(attributes), defaults)).toMatchObject({
      externalId: "ada",
      email,
      name,
      emailVerified: null,
    });
  });

  it("is read only from a configured mapping", () => {
    const mapping = { email: "mail", name: "cn", groups: "member" };
    const attributes = {
      mail: ["a@b.example"],
      cn: ["Ada"],
      member: ["x", "y"],
      [uri("emailaddress")]: ["b@b.example"],
    };
    expect(samlUser(facts(attributes), { mapping, subjectAttribute: null })).toMatchObject({
      email: "a@b.example",
      name: "Ada",
      groups: ["x", "y"],
    });
    expect(samlUser(facts({ [uri("emailaddress")]: ["b@b.example"] }), { ...defaults, mapping }).email).toBeNull();
  });

  it("has the NameID as address when it is one and no attribute has it", () => {
    const nameId = { value: "a@b.example", format: emailFormat };
    expect(samlUser(facts({}, nameId), defaults).email).toBe("a@b.example");
    expect(samlUser(facts({ [uri("emailaddress")]: ["c@b.example"] }, nameId), defaults).email).toBe("c@b.example");
    expect(samlUser(facts({ [uri("emailaddress")]: ["none"] }, nameId), defaults).email).toBeNull();
    expect(samlUser(facts({}, { ...nameId, format: null }), defaults).email).toBeNull();
  });

  it("is not read from names of Object.prototype", () => {
    expect(samlUser(facts({}), { ...defaults, mapping: { email: "constructor", name: "__proto__" } })).toMatchObject({
      email: null,
      name: null,
    });
  });
});

it("has several factors with a context of several factors only", () => {
  const of = (context: string | null) => ({ ...facts({}), statements: [{ sessionNotOnOrAfter: null, context }] });
  expect(contextSaysMfa(of("http://schemas.microsoft.com/claims/multipleauthn"))).toBe(true);
  expect([null, "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"].map((each) => contextSaysMfa(of(each)))).toEqual([
    false,
    false,
  ]);
});
