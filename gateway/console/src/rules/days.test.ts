import { expect, it } from "@jest/globals";
import { everyDay } from "./days.ts";

const empty = (day: string) => ({ day, total: 0 });
const rows = [{ day: "2026-02-28", total: 3 }];

it.each([
  ["2026-02-27T23:59:00.000Z", "2026-03-01T00:00:00.000Z", ["2026-02-27 0", "2026-02-28 3", "2026-03-01 0"]],
  ["2026-02-28T00:00:00.000Z", "2026-02-28T23:59:59.999Z", ["2026-02-28 3"]],
  ["2026-03-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", []],
])("every day from %s to %s is listed once", (from, to, days) => {
  expect(everyDay(rows, { from, to }, empty).map(({ day, total }) => `${day} ${total}`)).toEqual(days);
});

it("a long time is truncated to its newest days", () => {
  const days = everyDay([], { from: "2020-01-01", to: "2026-01-03" }, empty, 3);
  expect(days.map(({ day }) => day)).toEqual(["2026-01-01", "2026-01-02", "2026-01-03"]);
});
