import { describe, expect, it } from "@jest/globals";
import { nextSort, sortedBy } from "./sort.ts";

describe("an order by a column", () => {
  it.each([
    [undefined, "none", "hostname"],
    ["hostname", "ascending", "-hostname"],
    ["-hostname", "descending", undefined],
    ["lastSeenAt", "none", "hostname"],
    ["-lastSeenAt", "none", "hostname"],
  ])("with %s in force is %s, and %s after a press", (inForce, sorted, next) => {
    expect([sortedBy("hostname", inForce), nextSort("hostname", inForce)]).toEqual([sorted, next]);
  });

  it.each([
    ["-offline", "-offline", "descending"],
    ["-offline", "name", "none"],
    ["name", "name", "ascending"],
  ])("in one direction, %s, with %s in force is %s, and itself after a press", (column, inForce, sorted) => {
    expect([sortedBy(column, inForce), nextSort(column, inForce, true)]).toEqual([sorted, column]);
  });
});
