import { describe, expect, it } from "@jest/globals";
import { firstOffered } from "./first-offered.ts";

describe("operations before anything is typed", () => {
  it.each([
    ["are the most useful ones, in their order", ["key.make", "site.make", "device.add"], ["device.add", "key.make"]],
    ["leave out those that do not exist", ["site.make"], []],
  ])("%s", (_promise, ids, expected) => {
    expect(firstOffered(ids.map((id) => ({ id }))).map(({ id }) => id)).toEqual(expected);
  });
});
