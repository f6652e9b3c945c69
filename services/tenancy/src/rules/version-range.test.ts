import { describe, expect, it } from "@jest/globals";
import { checks } from "./fields.ts";
import { rangeField, versionsIn } from "./version-range.ts";

const versions = ["1.9.0", "1.10.0", "v2.0.0", "2.1.0-beta.1", "2.1.0+build", "nightly", ""];

describe("a range of versions", () => {
  it.each([
    ["<1.10.0", ["1.9.0"]],
    ["1.x || ^2.1.0", ["1.9.0", "1.10.0", "2.1.0+build"]],
    [">=2.1.0-alpha <2.1.0", ["2.1.0-beta.1"]],
    ["2.0.0", ["v2.0.0"]],
    ["*", ["1.9.0", "1.10.0", "v2.0.0", "2.1.0+build"]],
  ])("%s contains exactly its versions", (range, expected) => {
    expect(versionsIn(range, versions)).toEqual(expected);
  });

  it.each(["newest", ">=1.0.0 <", "1.2.3.4", "x".repeat(257)])("is refused when it is none: %s", (range) => {
    const check = checks();
    rangeField("agentVersionRange", range, check);
    expect(() => check.done()).toThrow();
  });
});
