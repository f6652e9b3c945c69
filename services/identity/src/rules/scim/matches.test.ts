import { describe, expect, it } from "@jest/globals";
import { parseFilter } from "./filter.ts";
import { matchesValue } from "./matches.ts";

const home = { type: "Home", value: "Ada@Example.com", primary: true, display: "" };

describe("a value of a list", () => {
  it.each([
    ['type eq "home"', true],
    ['type ne "home"', false],
    ['value co "@EXAMPLE"', true],
    ['value sw "ada"', true],
    ['value ew "ada"', false],
    ['type gt "homd"', true],
    ['type gt "home"', false],
    ['type ge "home"', true],
    ['type lt "home"', false],
    ['type lt "homf"', true],
    ['type le "home"', true],
    ['primary eq "True"', true],
    ["type pr", true],
    ["display pr", false],
    ["not (display pr)", true],
    ['type eq "work" or primary eq true', true],
    ['type eq "home" and primary eq false', false],
    // A part that is not there equals only null, and is in no order.
    ["extension eq null", true],
    ['extension ne "1"', true],
    ['extension co "1"', false],
    ['extension gt "1"', false],
    ['extension le "1"', false],
    ["type gt null", false],
  ])("matches %s: %p", (filter, expected) => {
    expect(matchesValue(parseFilter(filter), home)).toBe(expected);
  });

  it("has no parts where it is a text", () => {
    expect(matchesValue(parseFilter("value pr"), "ada@example.com")).toBe(false);
  });
});
