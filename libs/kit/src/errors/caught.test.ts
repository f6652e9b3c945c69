import { runInNewContext } from "node:vm";
import { describe, expect, it } from "@jest/globals";
import { codeOf, errorOf, messageOf } from "./caught.ts";

describe("what was thrown", () => {
  it.each([
    [new Error("no"), "no", ""],
    [Object.assign(new Error("no"), { code: "ENOENT" }), "no", "ENOENT"],
    [Object.assign(new Error("no"), { code: 7 }), "no", "7"],
    [runInNewContext("new TypeError('elsewhere')"), "elsewhere", ""],
    [{ message: null, code: null }, "[object Object]", ""],
    ["a text", "a text", ""],
    [null, "null", ""],
    [undefined, "undefined", ""],
  ])("is a text and a code: %p", (error, message, code) => {
    expect([messageOf(error), codeOf(error)]).toEqual([message, code]);
  });

  it("stays the same error, and becomes the cause of one where it is none", () => {
    const error = new TypeError("no");
    const elsewhere: unknown = runInNewContext("new TypeError('elsewhere')");
    expect(errorOf(error)).toBe(error);
    expect(errorOf(elsewhere)).toMatchObject({ message: "elsewhere", cause: elsewhere });
    expect(errorOf("a text")).toBeInstanceOf(Error);
  });
});
