import { expect, it } from "@jest/globals";
import { changedDevice, changedFields } from "./changed-fields.ts";

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

it.each([
  [{ changes: { before: { autoUpdateEnabled: true }, after: { autoUpdateEnabled: false } } }, "held its updates"],
  [{ changes: { before: { autoUpdateEnabled: false }, after: { autoUpdateEnabled: true } } }, "turned its updates on"],
  [{ before: { siteId: null }, after: { siteId: "a" } }, "changed its site"],
  [{ after: { autoUpdateEnabled: false, hostname: "b" } }, "changed its updates and name"],
  [{}, "changed it"],
])("an audit row %j of a device says that somebody %s", (details, said) => {
  expect(changedDevice(details)).toBe(said);
});
