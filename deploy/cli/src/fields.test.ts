import { describe, expect, it } from "@jest/globals";
import { bodyOf, checkFields, idAndFilters, type JsonObject } from "./fields.ts";

describe("the body that arguments spell", () => {
  it.each<[string[], JsonObject]>([
    [["name=Berlin"], { name: "Berlin" }],
    [["name="], { name: "" }],
    [["url=https://a.test/?b=c:=d"], { url: "https://a.test/?b=c:=d" }],
    [["maxUsage:=5", "expiresAt:=null"], { maxUsage: 5, expiresAt: null }],
    [["scopes[]=devices:read", "scopes[]=logs:read"], { scopes: ["devices:read", "logs:read"] }],
    [["contact.email=a@b.test", "contact.name=A"], { contact: { email: "a@b.test", name: "A" } }],
    [["a.constructor.b=1"], { a: { constructor: { b: "1" } } }],
  ])("%j is %j", (args, body) => {
    expect(bodyOf(args)).toEqual(body);
  });

  it("starts from what a file holds", () => {
    expect(bodyOf(["name=B", "tags[]=c"], { name: "A", tags: ["b"], kept: true })).toEqual({
      name: "B",
      tags: ["b", "c"],
      kept: true,
    });
  });

  it.each([["name"], ["=x"], ["count:=five"], ["__proto__.a=1"], ["a.__proto__.b=1"], ["a b=c"]])(
    "%s is wrong usage",
    (arg) => {
      expect(() => bodyOf([arg])).toThrow(expect.objectContaining({ exitCode: 2 }));
    },
  );

  it("does not go into what is no object", () => {
    expect(() => bodyOf(["a=1", "a.b=2"])).toThrow("a is not an object");
  });
});

describe("arguments of get", () => {
  it("are one id and filters that the resource knows", () => {
    expect(idAndFilters(["status=offline", "search=a=b"], ["status", "search"])).toEqual({
      id: null,
      filters: { status: "offline", search: "a=b" },
    });
    expect(idAndFilters(["some-id"], [])).toEqual({ id: "some-id", filters: {} });
  });

  it.each([
    [["a", "b"], "one id at a time"],
    [["staus=offline"], 'no filter "staus": known are status'],
  ])("%j: %s", (args, message) => {
    expect(() => idAndFilters(args as string[], ["status"])).toThrow(message as string);
  });
});

describe("fields that an operation has", () => {
  const fields = { name: null, contact: null, headers: { key: null, value: null } };
  it.each<JsonObject>([
    {},
    { name: "a", contact: { anything: { at: "all" } } },
    { headers: [{ key: "a", value: "b" }] },
    { headers: "checked by the API" },
  ])("%j is within them", (body) => {
    expect(() => checkFields(body, fields)).not.toThrow();
  });

  it.each<[JsonObject, string]>([
    [{ Name: "a" }, 'no field "Name"; did you mean "name"?'],
    [{ constructor: "a" }, 'no field "constructor"'],
    [{ headers: [{ key: "a" }, { val: "b" }] }, 'no field "headers.val"; did you mean "value"?'],
  ])("%j is not", (body, message) => {
    expect(() => checkFields(body, fields)).toThrow(message);
  });
});
