import { describe, expect, it } from "@jest/globals";
import { outlier, outlierParts } from "./outlier.ts";

describe("what makes a day stand out", () => {
  const all = new Map([
    ["user.login", 700],
    ["device.enroll", 210],
    ["site.create", 20],
    ["device.update", 60],
  ]);
  const partsOf = (counts: Record<string, number>) =>
    outlierParts(
      Object.entries(counts).map(([key, count]) => ({ key, count })),
      all,
      13,
    );

  it("is the part that it has above other days, not the one that every day has", () => {
    expect(partsOf({ "user.login": 60, "device.enroll": 206, "site.create": 20 })).toEqual([
      { key: "device.enroll", count: 206, elsewhere: 4 },
    ]);
  });

  it("are several parts until they are half of it", () => {
    expect(partsOf({ "user.login": 60, "device.enroll": 40, "device.update": 30, "site.create": 20 })).toEqual([
      { key: "device.update", count: 30, elsewhere: 30 },
      { key: "device.enroll", count: 40, elsewhere: 170 },
      { key: "site.create", count: 20, elsewhere: 0 },
    ]);
  });

  it("is known without the counts of other days", () => {
    expect(outlierParts([{ key: "ada", count: 9 }], new Map(), 3)).toEqual([{ key: "ada", count: 9, elsewhere: null }]);
  });

  it("is nothing where no part is above other days", () => {
    expect(partsOf({ "user.login": 10 })).toEqual([]);
  });
});

describe("an outlier", () => {
  it.each([
    ["is a value far above the others", [30, 28, 290], { at: 2, times: 10 }],
    ["is no handful, however few the others are", [1, 1, 4], null],
    ["is none among none", [], null],
  ])("%s", (_promise, values, expected) => {
    expect(outlier(values)).toEqual(expected);
  });
});
