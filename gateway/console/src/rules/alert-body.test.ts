import { expect, it } from "@jest/globals";
import { alertFieldsOf, alertQueryOf, searchWords } from "./alert-body.ts";

it("an alert has the filters of the page, without its times and its organization", () => {
  const filters = { orgId: "o", from: "2026-01-01", to: "", q: "key", actions: "a,b", result: undefined };
  expect(alertQueryOf(filters)).toEqual({ q: "key", actions: ["a", "b"] });
});

it.each([
  ["A user becomes an administrator", { template: "new-administrator", query: {} }],
  ["action site.create · result denied", { template: null, query: { action: "site.create", result: "denied" } }],
  ["every change by people", { template: null, query: { excludeActions: ["agent.heartbeat"] } }],
])("%s", (words, search) => {
  expect(searchWords(search)).toBe(words);
});

it("the fields of an alert are a name, a threshold where one is wanted, and who is notified", () => {
  const form = new FormData();
  for (const [name, value] of [
    ["name", " Sites "],
    ["count", "3"],
    ["minutes", "5"],
    ["mail", "a"],
    ["mail", "b"],
  ] as const)
    form.append(name, value);
  expect(alertFieldsOf(form)).toEqual({
    name: "Sites",
    threshold: null,
    notify: { webhook: false, mail: ["a", "b"] },
  });
  form.set("isThreshold", "on");
  form.set("webhook", "on");
  expect(alertFieldsOf(form)).toMatchObject({ threshold: { count: 3, minutes: 5 }, notify: { webhook: true } });
});
