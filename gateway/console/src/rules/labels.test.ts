import { expect, it } from "@jest/globals";
import { labelChanges, labelsText } from "./labels.ts";

it.each([
  [{ region: "eu" }, "region=eu", {}],
  [{ region: "eu" }, "region = us\n\n tier=1 ", { region: "us", tier: "1" }],
  [{ region: "eu", tier: "1" }, "tier=1", { region: null }],
  [{}, "retired\nquery=a=b", { retired: "", query: "a=b" }],
])("labels %j become those of %j by %j", (before, text, changes) => {
  expect(labelChanges(before, text)).toEqual(changes);
});

it("labels are shown as lines that change nothing", () => {
  const labels = { tier: "1", region: "eu=west" };
  expect(labelChanges(labels, labelsText(labels))).toEqual({});
});
