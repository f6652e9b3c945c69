import { expect, it } from "@jest/globals";
import { dayHeading } from "./day-heading.ts";

const now = new Date("2026-11-29T01:30:00Z");

it.each([
  ["2026-11-29T01:00:00Z", "UTC", "Today, Sunday, November 29"],
  ["2026-11-28T23:59:59Z", "UTC", "Yesterday, Saturday, November 28"],
  ["2026-11-28T23:59:59Z", "Europe/Stockholm", "Today, Sunday, November 29"],
  ["2026-11-02T12:00:00Z", "UTC", "Monday, November 2"],
  ["2025-12-31T12:00:00Z", "UTC", "Wednesday, December 31, 2025"],
])("the day of %s in %s is headed %s", (instant, timeZone, heading) => {
  expect(dayHeading(instant, now, { timeZone, locale: "en" })).toBe(heading);
});
