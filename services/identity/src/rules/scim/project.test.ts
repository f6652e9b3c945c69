import { describe, expect, it } from "@jest/globals";
import { everything, includes, namesIn, project } from "./project.ts";
import { enterpriseUrn } from "./schema.ts";

const core = "urn:ietf:params:scim:schemas:core:2.0:User";
const user = {
  schemas: [core, enterpriseUrn],
  id: "1",
  userName: "ada",
  active: false,
  name: { givenName: "Ada", familyName: "Lovelace" },
  emails: [{ value: "a@x.test", type: "work" }, { type: "home" }],
  [enterpriseUrn]: { department: "Engines", employeeNumber: "7" },
};
const { schemas, id, userName, active, name } = user;
const head = { schemas, id };
const enterprise = user[enterpriseUrn];
const only = (text: string) => ({ attributes: namesIn(text), excluded: [] });
const without = (text: string) => ({ attributes: [], excluded: namesIn(text) });

it("reads names between commas, a hundred at most", () => {
  expect(namesIn(" userName, ,name.givenName,")).toEqual(["username", "name.givenname"]);
  expect(namesIn("")).toEqual([]);
  expect(namesIn(Array.from({ length: 101 }, (_, n) => `a${n}`).join(","))).toHaveLength(100);
});

describe("a resource", () => {
  it.each([
    ["everything", everything, user],
    ["an attribute", only("userName"), { ...head, userName }],
    ["an attribute that is false", only("active"), { ...head, active }],
    ["an attribute by its schema", only(`${core}:userName`), { ...head, userName }],
    ["an attribute of another schema", only(`${enterpriseUrn}:userName`), head],
    ["what is not there", only("title"), head],
    ["a part", only("name.givenName"), { ...head, name: { givenName: "Ada" } }],
    ["a part and its whole", only("name.givenName,name"), { ...head, name }],
    ["two parts", only("name.givenName,name.familyName"), { ...head, name }],
    ["a part that is not there", only("name.middleName"), head],
    ["a part of each", only("emails.value"), { ...head, emails: [{ value: "a@x.test" }] }],
    ["a part of a text", only("userName.x"), { ...head, userName }],
    ["an extension", only(enterpriseUrn), { ...head, [enterpriseUrn]: enterprise }],
    [
      "a part of an extension",
      only(`${enterpriseUrn}:department`),
      { ...head, [enterpriseUrn]: { department: "Engines" } },
    ],
    ["a part of an extension without its schema", only("department"), head],
  ])("has by attributes %s", (_what, projection, expected) => {
    expect(project(user, projection)).toEqual(expected);
  });

  it.each([
    ["an attribute", without("userName"), { ...user, userName: undefined }],
    ["what it always has", without("id,schemas"), user],
    ["a part", without("name.givenName"), { ...user, name: { familyName: "Lovelace" } }],
    ["all parts", without("name.givenName,name.familyName"), { ...user, name: undefined }],
    ["a part and its whole", without("name.givenName,name"), { ...user, name: undefined }],
    ["a part of each", without("emails.type"), { ...user, emails: [{ value: "a@x.test" }] }],
    ["an extension", without(enterpriseUrn), { ...user, [enterpriseUrn]: undefined }],
    [
      "a part of an extension",
      without(`${enterpriseUrn}:department`),
      { ...user, [enterpriseUrn]: { employeeNumber: "7" } },
    ],
    ["a part of an extension without its schema", without("department"), user],
  ])("lacks by excludedAttributes %s", (_what, projection, expected) => {
    expect(project(user, projection)).toEqual(expected);
  });
});

describe("an attribute that is costly to read", () => {
  it.each([
    ["everything", everything, true],
    ["it alone", only("members"), true],
    ["a part of it", only("members.value"), true],
    ["it by its schema", only("urn:ietf:params:scim:schemas:core:2.0:Group:members"), true],
    ["another", only("displayName"), false],
    ["all but it", without("members"), false],
    ["all but a part of it", without("members.value"), true],
    ["all but another", without("displayName"), true],
  ])("is read or not for %s", (_what, projection, expected) => {
    expect(includes(projection, "Members")).toBe(expected);
  });
});
