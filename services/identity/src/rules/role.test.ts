import { describe, expect, it } from "@jest/globals";
import { roleChange } from "./role.ts";

const fields = { name: "Support", description: "", permissions: ["devices:read"] };
const refusal = (paths: string[], change: Partial<typeof fields>): unknown => {
  try {
    return roleChange(paths, { ...fields, ...change });
  } catch (error) {
    const { code, facts } = error as { code: string; facts: { details?: { fieldErrors?: object } } };
    return [code, ...Object.keys(facts.details?.fieldErrors ?? {})].join(" ");
  }
};

describe("a change of a role", () => {
  it("is what its mask names", () => {
    expect(roleChange(["name"], fields)).toEqual({ name: "Support" });
    expect(roleChange(["permissions", "description"], fields)).toEqual({
      description: "",
      permissions: ["devices:read"],
    });
  });

  it.each<[string, string[], Partial<typeof fields>, string]>([
    ["names nothing", ["scope"], {}, "no_updates"],
    ["has no name", ["name"], { name: "" }, "validation_failed name"],
    ["has NUL", ["description"], { description: "a\0" }, "validation_failed description"],
    ["is too long", ["description"], { description: "x".repeat(1_001) }, "validation_failed description"],
    ["has another permission", ["permissions"], { permissions: ["devices:rule"] }, "validation_failed permissions"],
    ["has the name of a seeded role", ["name"], { name: "partner Administrator " }, "name_taken"],
  ])("is refused when it %s", (_case, paths, change, expected) => {
    expect(refusal(paths, change)).toBe(expected);
  });

  it("may be of the greatest length", () => {
    expect(roleChange(["description"], { ...fields, description: "x".repeat(1_000) })).toEqual({
      description: "x".repeat(1_000),
    });
  });
});
