import { describe, expect, it } from "@jest/globals";
import { draftOf, errorsOfRing, limitsOf, newRing, ringOf } from "./rings.ts";

describe("a ring of the form", () => {
  it("is what the API takes, without what was left empty", () => {
    const draft = {
      ...newRing("1", " Canary "),
      labels: "ring=canary\nlab",
      os: ["linux"] as const,
      range: " >=1 <2 ",
    };
    expect(ringOf(draft)).toEqual({
      name: "Canary",
      partnerIds: [],
      orgIds: [],
      siteIds: [],
      groupIds: [],
      os: ["linux"],
      arch: [],
      labels: { ring: "canary", lab: "" },
      agentVersionRange: ">=1 <2",
    });
    expect(ringOf(newRing("1", "All"))).not.toHaveProperty("agentVersionRange");
  });

  it("is the same after it came from a template", () => {
    const ring = ringOf({ ...newRing("1", "Canary"), orgIds: ["a"], labels: "a=1\nb=2" });
    expect(ringOf(draftOf({ ...ring, agentVersionRange: null }, "2"))).toEqual(ring);
  });
});

it("leaves limits to the platform that are empty", () => {
  const form = new FormData();
  for (const [name, value] of [
    ["percent", "50"],
    ["haltPercent", ""],
    ["openRings", "0"],
  ] as const)
    form.set(name, value);
  expect(limitsOf(form)).toEqual({ percent: 50, openRings: 0 });
});

it("finds the error texts of one ring", () => {
  const errors = { "rings.1.labels": ["Too long"], "rings.10": ["Bad"], "rings.1": ["Empty"], version: ["Unknown"] };
  expect(errorsOfRing(errors, 1)).toEqual(["Too long", "Empty"]);
});
