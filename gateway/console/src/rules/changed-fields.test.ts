import { expect, it } from "@jest/globals";
import { changedFields } from "./changed-fields.ts";

it.each([
  [{ changes: { before: { siteId: null }, after: { siteId: "a" } } }, "its site"],
  [
    { before: { labels: { a: "1" }, siteId: "a" }, after: { labels: { a: "2", b: "3" }, siteId: "b" } },
    "its labels and site",
  ],
  [{ changes: { after: { autoUpdateEnabled: false, lastIpAddress: "::1" } } }, "its updates and last ip address"],
  [{ status: "inactive" }, ""],
])("an audit row %j says that somebody changed %j", (details, said) => {
  expect(changedFields(details)).toBe(said);
});
