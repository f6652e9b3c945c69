import { describe, expect, it } from "@jest/globals";
import { accountOf, emailsOf, placeholderEmail } from "./account.ts";
import { enterpriseUrn } from "./schema.ts";

const mail = (value: unknown, more: object = {}) => ({ value, ...more });

describe("the account of a directory's user", () => {
  it.each([
    [
      "the primary one",
      [mail("a@x.test"), mail("b@x.test", { type: "work" }), mail("c@x.test", { primary: true })],
      "c@x.test",
    ],
    ["that of work", [mail("a@x.test"), mail("b@x.test", { type: "WORK" })], "b@x.test"],
    ["the first", [mail("a@x.test", { primary: "true", type: 1 }), mail("b@x.test", { type: "home" })], "a@x.test"],
    ["the user's name, where there is none", [], "ada@x.test"],
    ["the user's name, where it is no list", mail("a@x.test"), "ada@x.test"],
    ["the user's name, where it is no address", [null, mail("a")], "ada@x.test"],
  ])("has as its address %s", (_what, emails, email) => {
    expect(accountOf({ userName: " ada@x.test ", emails })).toMatchObject({ email });
  });

  it("has no address where nothing is one", () => {
    expect(accountOf({ userName: "ada" })).toEqual({ email: null, name: "ada", department: null, active: true });
    expect(placeholderEmail("1")).toBe("1@directory.invalid");
  });

  it.each([
    ["displayName", { displayName: " Ada L. ", name: { formatted: "F", givenName: "G" } }, "Ada L."],
    ["name.formatted", { displayName: "", name: { formatted: "F", givenName: "G" } }, "F"],
    ["both names", { name: { givenName: "Ada", familyName: "Lovelace" } }, "Ada Lovelace"],
    ["one name", { name: { familyName: "Lovelace", givenName: 1 } }, "Lovelace"],
    ["userName", { name: "Ada" }, "ada"],
    ["userName for what is no name", { displayName: "a\u0000b" }, "ada"],
    ["255 characters", { displayName: "n".repeat(300) }, "n".repeat(255)],
  ])("is named by %s", (_what, document, name) => {
    expect(accountOf({ userName: "ada", ...document })).toMatchObject({ name });
  });

  it("is unnamed where nothing is a name", () => {
    expect(accountOf({ userName: 1 }).name).toBe("Unnamed");
  });

  it.each([
    ["a text", { department: " Engines " }, "Engines"],
    ["255 characters", { department: "d".repeat(255) }, "d".repeat(255)],
    ["more", { department: "d".repeat(256) }, null],
    ["none", { department: "" }, null],
    ["no text", { department: 1 }, null],
    ["control characters", { department: "a\u0000b" }, null],
    ["no object", "Engines", null],
  ])("has a department of %s", (_what, extension, department) => {
    expect(accountOf({ userName: "ada", [enterpriseUrn]: extension })).toMatchObject({ department });
  });

  it.each([
    [false, false],
    [true, true],
    [undefined, true],
  ])("is active by %s: %s", (active, expected) => {
    expect(accountOf({ userName: "ada", active }).active).toBe(expected);
  });
});

it("addresses are looked up once each, in lower case", () => {
  expect(
    emailsOf({ emails: [mail(" A@x.test"), mail("a@X.test"), mail(""), mail(1), null, mail("b@x.test")] }),
  ).toEqual(["a@x.test", "b@x.test"]);
  expect(emailsOf({ emails: mail("a@x.test") })).toEqual([]);
});
