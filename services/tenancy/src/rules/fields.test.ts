import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { checks, maxObjectBytes } from "./fields.ts";

const labelsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`label-${at}`, "x"]));
const errors = (labels: Record<string, string>): unknown => {
  const check = checks();
  check.labels("labels", labels);
  try {
    return check.done();
  } catch (error) {
    return ((error as AppError).facts.details as { fieldErrors: { labels: string[] } }).fieldErrors.labels;
  }
};

describe("an object of JSON", () => {
  const read = (json: string) => {
    const check = checks();
    const value = check.object("settings", json);
    try {
      check.done();
      return value;
    } catch (error) {
      return ((error as AppError).facts.details as { fieldErrors: { settings: string[] } }).fieldErrors.settings;
    }
  };
  const ofBytes = (bytes: number) => JSON.stringify({ a: "x".repeat(bytes - 8) });

  it.each<[string, string, unknown]>([
    ["nothing", "", {}],
    ["65,536 bytes", ofBytes(maxObjectBytes), { a: expect.any(String) }],
    ["65,537 bytes", ofBytes(maxObjectBytes + 1), ["At most 65536 bytes of JSON"]],
    ["bytes, not characters", JSON.stringify({ a: "ä".repeat(maxObjectBytes / 2) }), ["At most 65536 bytes of JSON"]],
    ["no JSON", "{", ["Not JSON"]],
  ])("is checked: %s", (_case, json, expected) => {
    expect(read(json)).toEqual(expected);
  });
});

describe("labels", () => {
  it.each<[string, Record<string, string>, string[] | undefined]>([
    ["32 of them", labelsOf(32), undefined],
    ["33 of them", labelsOf(33), ["At most 32"]],
    ["a name of 63 characters", { ["x".repeat(63)]: "" }, undefined],
    ["a name of 64 characters", { ["x".repeat(64)]: "" }, ["Names of 1 to 63 characters"]],
    ["no name", { "": "x" }, ["Names of 1 to 63 characters"]],
    ["a value of 255 characters", { a: "x".repeat(255) }, undefined],
    ["a value of 256 characters", { a: "x".repeat(256) }, ["At most 255 characters"]],
  ])("are checked: %s", (_case, labels, expected) => {
    expect(errors(labels)).toEqual(expected);
  });
});
