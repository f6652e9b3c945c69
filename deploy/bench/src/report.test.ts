import { describe, expect, test } from "@jest/globals";
import { newReport, shown, shownLimit } from "./report.ts";

describe("a bench's report", () => {
  test.each([
    [2_500, true],
    [2_499.6, true],
    [2_499.4, false],
    [Number.POSITIVE_INFINITY, false],
    [Number.NaN, false],
  ])("says whether %p is held against at least 2,500, as it is written", (value, held) => {
    const report = newReport();
    report.atLeast("requests", value, "a second", 2_500);
    expect(report.figures).toMatchObject([{ name: "requests", held }]);
  });

  test("says whether a figure is held against at most, and whether nothing wrong was counted", () => {
    const report = newReport();
    report.atMost("p99", 15.04, "ms", 15);
    report.atMost("p50", 15.1, "ms", 15);
    report.none({ lost: 0, doubled: 1 });
    expect(report.figures.map(({ name, value, held }) => [name, value, held])).toEqual([
      ["p99", 15, true],
      ["p50", 15.1, false],
      ["lost", 0, true],
      ["doubled", 1, false],
    ]);
  });

  test("holds a figure without a limit against nothing", () => {
    const report = newReport();
    report.also("bare node:http", 84_252.4, "requests/s");
    expect(report.figures).toEqual([{ name: "bare node:http", value: 84_252, unit: "requests/s" }]);
  });

  test("refuses two figures of one name", () => {
    const report = newReport();
    report.also("p50", 1, "ms");
    expect(() => report.also("p50", 2, "ms")).toThrow("two figures are called p50");
  });

  test("shows values with their unit, and limits", () => {
    expect([shown(2_475, "requests/s"), shown(0, ""), shown(null, "ms")]).toEqual(["2,475 requests/s", "0", "none"]);
    expect(shownLimit({ name: "a", value: 1, unit: "", atLeast: 2_500 })).toBe("≥ 2,500");
    expect(shownLimit({ name: "a", value: 1, unit: "", atMost: 0.3 })).toBe("≤ 0.3");
    expect(shownLimit({ name: "a", value: 1, unit: "" })).toBe("");
  });
});
