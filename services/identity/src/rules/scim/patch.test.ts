import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { readDocument, type ScimDocument, userResource } from "./document.ts";
import { changeGroup } from "./group-patch.ts";
import { applyPatch, readOperations } from "./patch.ts";

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const work = { value: "ada@acme.example", type: "work", primary: true };
const before: ScimDocument = {
  userName: "ada@acme.example",
  active: true,
  name: { givenName: "Ada", familyName: "Lovelace" },
  emails: [work],
  [enterprise]: { department: "Engines", manager: { value: "m1" } },
};
const patched = (...Operations: unknown[]) => applyPatch(userResource, before, readOperations({ Operations }));

function refusalOf(work: () => unknown): unknown {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === "scim_invalid") return error.facts.scimType;
    throw error;
  }
}

describe("a PATCH of a user, as clients send it", () => {
  it.each<[string, object, ScimDocument]>([
    ["Entra disables", { op: "Replace", path: "active", value: "False" }, { active: false }],
    ["Okta disables", { op: "replace", value: { active: false } }, { active: false }],
    [
      "Entra changes the work address",
      { op: "Replace", path: 'emails[type eq "work"].value', value: "l@acme.example" },
      { emails: [{ ...work, value: "l@acme.example" }] },
    ],
    [
      "Entra adds an address of a type that there is none of",
      { op: "Add", path: 'emails[type eq "home"].value', value: "h@acme.example" },
      { emails: [work, { value: "h@acme.example", type: "home" }] },
    ],
    [
      "Entra sends the manager as a text",
      { op: "Add", path: `${enterprise}:manager`, value: "m2" },
      { [enterprise]: { department: "Engines", manager: { value: "m2" } } },
    ],
    [
      "paths as names of members",
      { op: "add", value: { "name.givenName": "Augusta", [`${enterprise}:department`]: "Notes" } },
      {
        name: { givenName: "Augusta", familyName: "Lovelace" },
        [enterprise]: { department: "Notes", manager: { value: "m1" } },
      },
    ],
    [
      "an extension as a whole",
      { op: "replace", value: { [enterprise]: { manager: null, department: "N" } } },
      {
        [enterprise]: { department: "N" },
      },
    ],
    [
      "an extension that names its schema",
      { op: "add", path: enterprise, value: { schemas: [enterprise], employeeNumber: "7" } },
      { [enterprise]: { department: "Engines", manager: { value: "m1" }, employeeNumber: "7" } },
    ],
    ["a remove with a list", { op: "Remove", path: "emails", value: [{ value: "ada@acme.example" }] }, {}],
    ["a remove by a filter", { op: "remove", path: 'emails[type eq "work"]' }, {}],
    [
      "an add keeps the other parts of an object",
      { op: "add", path: "name", value: { givenName: "Augusta" } },
      { name: { givenName: "Augusta", familyName: "Lovelace" } },
    ],
    [
      "a replace does not keep them",
      { op: "replace", path: "name", value: { givenName: "Augusta" } },
      { name: { givenName: "Augusta" } },
    ],
    ["null removes", { op: "replace", path: "emails", value: null }, {}],
    [
      "a new primary value takes the place of the old one",
      { op: "add", path: "emails", value: [{ value: "b@acme.example", primary: true }] },
      {
        emails: [
          { ...work, primary: false },
          { value: "b@acme.example", primary: true },
        ],
      },
    ],
    ["what is not stored is left out", { op: "add", path: "roles", value: [{ value: "x" }] }, {}],
    ["Okta repeats the id", { op: "replace", value: { id: "1", active: true } }, {}],
  ])("%s", (name, operation, expected) => {
    const isRemoved = /remove/.test(name) && !/extension/.test(name);
    const { emails: _, ...withoutEmails } = before;
    expect(patched(operation)).toEqual(isRemoved ? withoutEmails : { ...before, ...expected });
  });

  it.each<[object, string]>([
    [{ op: "remove", path: "userName" }, "mutability"],
    [{ op: "replace", path: "id", value: "1" }, "mutability"],
    [{ op: "add", path: "groups", value: [] }, "mutability"],
    [{ op: "replace", path: "userName", value: null }, "invalidValue"],
    [{ op: "replace", path: "shoeSize", value: 1 }, "invalidPath"],
    [{ op: "replace", path: "name.shoeSize", value: 1 }, "invalidPath"],
    [{ op: "replace", path: "__proto__.polluted", value: 1 }, "invalidPath"],
    [{ op: "replace", path: 'userName[type eq "x"]', value: 1 }, "invalidPath"],
    [{ op: "replace", path: 'emails[type co "x"].value', value: "a" }, "noTarget"],
    [{ op: "replace", path: 'emails[type eq "home"].value', value: "h@acme.example" }, "noTarget"],
    [{ op: "replace", path: 'emails[type eq "home"]', value: { value: "h@acme.example" } }, "noTarget"],
    [{ op: "replace", path: 'phoneNumbers[type eq "work"].value', value: "+1 555" }, "noTarget"],
    [{ op: "replace", path: "phoneNumbers.value", value: "+1 555" }, "noTarget"],
    [{ op: "add", path: 'emails[type co "x"].value', value: "a" }, "noTarget"],
    [{ op: "replace", path: "active", value: "maybe" }, "invalidValue"],
    [{ op: "replace", path: "name", value: [] }, "invalidValue"],
    [{ op: "replace", value: "x" }, "invalidValue"],
    [{ op: "remove" }, "noTarget"],
    [{ op: "move", path: "active" }, "invalidSyntax"],
  ])("%j is refused as %s", (operation, scimType) => {
    expect(refusalOf(() => patched(operation))).toBe(scimType);
  });

  it("keeps a document of bounded size", () => {
    const value = Array.from({ length: 70 }, (_, n) => ({ formatted: "x".repeat(1_000), region: `${n}` }));
    expect(refusalOf(() => patched({ op: "add", path: "addresses", value }))).toBe("invalidValue");
  });

  it("changes nothing of what it was given", () => {
    const copy = structuredClone(before);
    expect(refusalOf(() => patched({ op: "replace", path: "active", value: false }, { op: "x" }))).toBe(
      "invalidSyntax",
    );
    patched({ op: "replace", path: "active", value: false });
    expect(before).toEqual(copy);
  });
});

describe("a PATCH of a group", () => {
  const id = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
  const second = id.replace("018f", "028f");
  const changed = (...Operations: unknown[]) => changeGroup({ displayName: "G" }, readOperations({ Operations }));

  it.each<[object, object]>([
    [
      { op: "Add", path: "members", value: [{ value: id.toUpperCase() }] },
      { kind: "add", ids: [id] },
    ],
    [
      { op: "Remove", path: "members", value: [{ value: id }] },
      { kind: "remove", ids: [id] },
    ],
    [
      { op: "remove", path: `members[value eq "${id}"]` },
      { kind: "remove", ids: [id] },
    ],
    [
      { op: "remove", path: `members[value eq "${id}" or value eq "${second}"]` },
      { kind: "remove", ids: [id, second] },
    ],
    [
      { op: "remove", path: "members" },
      { kind: "set", ids: [] },
    ],
    [
      { op: "replace", path: "members", value: [{ value: id }] },
      { kind: "set", ids: [id] },
    ],
  ])("%j changes members alone", (operation, expected) => {
    expect(changed(operation)).toEqual({ document: { displayName: "G" }, members: [expected] });
  });

  it("joins operations of the same kind, which clients send for each member", () => {
    const [add, remove] = ["add", "remove"].map((op) => ({ op, path: "members", value: [{ value: id }] }));
    const more = { op: "Add", path: "members", value: [{ value: second }] };
    expect(changed(add, more, remove, { ...more, op: "remove" }, add).members).toEqual([
      { kind: "add", ids: [id, second] },
      { kind: "remove", ids: [id, second] },
      { kind: "add", ids: [id] },
    ]);
  });

  it("renames as Okta does, with the id beside the name", () => {
    const operation = { op: "replace", value: { id, displayName: "New" } };
    expect(changed(operation)).toEqual({ document: { displayName: "New" }, members: [] });
  });

  it.each<[object, string]>([
    [{ op: "add", path: "members", value: [{ value: "nobody" }] }, "noTarget"],
    [{ op: "add", path: "members", value: [{}] }, "invalidValue"],
    [{ op: "remove", path: 'members[type eq "User"]' }, "invalidPath"],
    [{ op: "remove", path: "displayName" }, "mutability"],
  ])("%j is refused as %s", (operation, scimType) => {
    expect(refusalOf(() => changed(operation))).toBe(scimType);
  });
});

it("reads a document whatever the case of its names, and leaves out what it does not know", () => {
  const sent = { USERNAME: "a", Active: "true", password: "secret", shoeSize: 1, emails: "a@b.example" };
  expect(readDocument(userResource, sent)).toEqual({ userName: "a", active: true, emails: [{ value: "a@b.example" }] });
});
