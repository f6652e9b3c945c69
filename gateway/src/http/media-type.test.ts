import { describe, expect, it } from "@jest/globals";
import { isJsonType } from "./media-type.ts";

describe("a media type", () => {
  it.each([
    "application/json",
    "Application/JSON",
    "application/json;",
    "application/json ; charset=utf-8",
    'application/json; charset="UTF-8"',
    "application/json; charset=utf-8;",
    "application/problem+json",
    "application/vnd.api+json;charset=utf-8",
  ])("is JSON: %s", (text) => {
    expect(isJsonType(text)).toBe(true);
  });

  it.each([
    "",
    "json",
    "text/json",
    "application/jsonp",
    "application/+json",
    "application/a b+json",
    "application/json charset=utf-8",
    "application/json; charset=utf-16",
    "application/json; charset=utf-8=",
    "application/json; charset=utf-8; charset=utf-8",
    "application/json; profile=a",
    "application/json, application/json",
    "multipart/form-data; boundary=application/json",
  ])("is not JSON: %s", (text) => {
    expect(isJsonType(text)).toBe(false);
  });

  it("with more than 256 characters is refused, whatever it repeats", () => {
    expect(isJsonType(`application/${"a".repeat(239)}+json`)).toBe(true);
    expect(isJsonType(`application/${"a".repeat(240)}+json`)).toBe(false);
    expect(isJsonType(`application/json${" ".repeat(16_000)}x`)).toBe(false);
  });
});
