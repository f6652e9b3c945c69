import { expect, it } from "@jest/globals";
import { filterOf, timeOf } from "./times.ts";

const now = new Date("2026-01-31T12:00:00.000Z");

it.each<[string, string]>([
  ["30m", "2026-01-31T11:30:00.000Z"],
  ["1h", "2026-01-31T11:00:00.000Z"],
  ["7d", "2026-01-24T12:00:00.000Z"],
  ["2026-01-01", "2026-01-01"],
  ["1w", "1w"],
  ["-1h", "-1h"],
  ["", ""],
])("the time %j is %j", (text, time) => {
  expect(timeOf(text, now)).toBe(time);
});

it("only filters of time are read as times", () => {
  expect([filterOf("since", "1h", now), filterOf("search", "1h", now)]).toEqual(["2026-01-31T11:00:00.000Z", "1h"]);
});
