import { describe, expect, it } from "@jest/globals";
import { newPartner } from "./partner.ts";

const valid = { name: "Acme", slug: "acme", type: "", plan: "" };

describe("a new partner", () => {
  it("counts a name's characters, not its UTF-16 units", () => {
    expect(newPartner({ ...valid, name: "😀".repeat(255) }).name).toHaveLength(510);
    expect(() => newPartner({ ...valid, name: "😀".repeat(256) })).toThrow();
  });

  it("has the documented defaults", () => {
    expect(newPartner(valid)).toEqual({
      name: "Acme",
      slug: "acme",
      type: "msp",
      plan: "free",
      maxOrganizations: null,
      maxDevices: null,
      billingEmail: null,
    });
  });

  it.each([
    ["name", { name: "" }],
    ["name", { name: "  " }],
    ["name", { name: "x".repeat(256) }],
    ["slug", { slug: "" }],
    ["slug", { slug: "a b" }],
    ["slug", { slug: ".." }],
    ["slug", { slug: "ä" }],
    ["slug", { slug: "-a" }],
    ["slug", { slug: "a/b" }],
    ["slug", { slug: "a".repeat(101) }],
    ["type", { type: "reseller" }],
    ["plan", { plan: "gold" }],
    ["maxOrganizations", { maxOrganizations: -1 }],
    ["maxDevices", { maxDevices: -5 }],
    ["billingEmail", { billingEmail: "x".repeat(256) }],
  ])("reports the invalid field %s", (field, change) => {
    try {
      newPartner({ ...valid, ...change });
      throw new Error("was accepted");
    } catch (error) {
      const { code, facts } = error as { code: string; facts: { details: { fieldErrors: object } } };
      expect(code).toBe("validation_failed");
      expect(Object.keys(facts.details.fieldErrors)).toEqual([field]);
    }
  });
});
