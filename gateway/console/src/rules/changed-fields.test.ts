import { expect, it } from "@jest/globals";
import { changedDevice, changedFields, changesInShort, rowInShort } from "./changed-fields.ts";

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

const long = "x".repeat(60);

it.each([
  [{ changes: { before: { name: "Till" }, after: { name: "Tills" } } }, "name: Till → Tills"],
  [{ before: { autoUpdateEnabled: true }, after: { autoUpdateEnabled: false } }, "updates: yes → no"],
  [
    { before: { events: ["a", "b"], url: null }, after: { events: [], url: "u" } },
    "events: a, b → none; url: none → u",
  ],
  [{ before: { a: 1, b: 1, c: 1, d: 1 }, after: { a: 2, b: 2, c: 2, d: 2 } }, "a: 1 → 2; b: 1 → 2; 2 more"],
  [{ before: { name: long }, after: { name: "x" } }, `name: ${long.slice(0, 39)}… → x`],
  [{ changes: { before: {}, after: { name: "New" } } }, ""],
  [{ status: "inactive" }, ""],
])("an audit row %j says in short: %s", (details, said) => {
  expect(changesInShort(details)).toBe(said);
});

it.each([
  [{ before: { a: 1 }, after: { a: 2 }, reason: "silent" }, null, "a: 1 → 2"],
  [
    { code: "permission_denied", required: "organizations:write" },
    "Permission denied",
    "Needs the permission organizations:write.",
  ],
  [{ reason: "3 failures, the last: locked" }, null, "3 failures. The last: A file was in use each time."],
  [{ reason: "locked" }, null, "A file was in use each time."],
  [{}, "E-mail or password is wrong", "E-mail or password is wrong"],
  [{}, "silent", "It was not heard of again in time, and the one before was restored."],
  [{ version: "2.5.0" }, null, ""],
])("besides its title an audit row %j says %j", (details, errorMessage, said) => {
  expect(rowInShort({ details, errorMessage })).toBe(said);
});
