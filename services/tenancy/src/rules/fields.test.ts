import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { checks } from "./fields.ts";

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
