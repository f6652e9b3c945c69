import { expect, it } from "@jest/globals";
import { filterText } from "./filter-text.ts";

it.each<[string, Record<string, unknown>, string]>([
  [
    "days from and to, in that order",
    { to: "2026-12-01T00:00:00.000Z", from: "2026-09-01T00:00:00.000Z" },
    "from 2026-09-01 · to 2026-12-01",
  ],
  [
    "a minute in UTC",
    { from: "2026-09-01T08:30:00.000Z", result: "denied" },
    "result denied · from 2026-09-01 08:30 UTC",
  ],
  ["a list", { actions: ["user.login", "user.logout"] }, "actions user.login, user.logout"],
  ["every row, without the organization", { orgId: "1" }, "every row"],
])("the filters of an export say %s", (_what, filter, text) => {
  expect(filterText(filter)).toBe(text);
});
