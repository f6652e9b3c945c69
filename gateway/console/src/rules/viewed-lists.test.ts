import { expect, it } from "@jest/globals";
import { filtersOf, viewedList } from "./viewed-lists.ts";

it.each([
  ["/api/v1/devices", "devices"],
  ["/api/v1/webhooks/all", "webhooks"],
  ["/api/v1/audit-logs/search", null],
  ["toString", null],
])("the list at %s has views as %s", (path, expected) => {
  expect(viewedList(path)).toBe(expected);
});

it("drops the filters that a view does not name, and joins those that it repeats", () => {
  expect(filtersOf({ status: ["offline", "quarantined"], os: "linux" }, ["orgId", "status", "os", "search"])).toEqual({
    orgId: undefined,
    status: "offline,quarantined",
    os: "linux",
    search: undefined,
  });
});
