import { expect, it } from "@jest/globals";
import { changesOf } from "./changes.ts";

it.each([
  ["a changed field", { maxDevices: 500 }, { maxDevices: 750 }, [{ field: "maxDevices", before: 500, after: 750 }]],
  ["nothing", { a: { b: [1] } }, { a: { b: [1] } }, []],
  [
    "an inner field",
    { settings: { a: 1, b: 2 } },
    { settings: { a: 1, b: 3 } },
    [{ field: "settings.b", before: 2, after: 3 }],
  ],
  ["a field that came", {}, { name: "x" }, [{ field: "name", before: undefined, after: "x" }]],
  ["an object that became null", { a: { b: 1 } }, { a: null }, [{ field: "a", before: { b: 1 }, after: null }]],
])("the changes of %s", (_what, before, after, changes) => {
  expect(changesOf(before, after)).toEqual(changes);
});
