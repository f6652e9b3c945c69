import { describe, expect, it } from "@jest/globals";
import { changesBetween } from "./changes.ts";
import { maxOrderedOrganizations, organizationOrder } from "./organization-order.ts";

describe("changes for the audit trail", () => {
  it("name the differing fields, with both values, and of settings only the differing keys", () => {
    const at = new Date(0);
    const before = { name: "a", slug: "s", start: at, settings: { kept: 1, gone: 2, other: { x: 1 } } };
    const after = { name: "b", slug: "s", start: new Date(0), settings: { kept: 1, other: { x: 2 }, fresh: 3 } };
    expect(changesBetween(before, after)).toEqual({
      changedFields: ["name", "settings"],
      changes: {
        before: { name: "a", settings: { gone: 2, other: { x: 1 } } },
        after: { name: "b", settings: { other: { x: 2 }, fresh: 3 } },
      },
    });
  });

  it("are none when nothing differs", () => {
    expect(changesBetween({ a: { b: [1] } }, { a: { b: [1] } })).toEqual({
      changedFields: [],
      changes: { before: {}, after: {} },
    });
  });
});

describe("the order of organizations", () => {
  it.each([
    [[], [], ["a", "b"], ["a", "b"]],
    [["b"], ["b"], ["a", "b"], ["b", "a"]],
    [
      ["b", "x", "b", "a"],
      ["a", "b"],
      ["a", "b", "c"],
      ["b", "a", "c"],
    ],
  ])("for %j, where %j exist and %j are registered, is %j", (wanted, existing, registered, expected) => {
    expect(organizationOrder(wanted, existing, registered)).toEqual(expected);
  });

  it("is bounded", () => {
    const many = Array.from({ length: maxOrderedOrganizations + 10 }, (_, i) => String(i));
    expect(organizationOrder(["late"], ["late"], many)).toHaveLength(maxOrderedOrganizations);
  });
});
