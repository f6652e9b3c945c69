import { expect, it } from "@jest/globals";
import { shortTime } from "./short-time.ts";

const now = new Date("2026-11-27T17:56:13Z");

it.each([
  ["2026-11-27T05:04:03Z", "UTC", "5:04:03 AM"],
  ["2026-11-25T17:56:13Z", "UTC", "Nov 25, 5:56 PM"],
  ["2025-11-27T17:56:13Z", "UTC", "Nov 27, 2025, 5:56 PM"],
  ["2026-11-27T14:30:00Z", "Asia/Tokyo", "Nov 27, 11:30 PM"],
  ["2026-11-27T15:30:00Z", "Asia/Tokyo", "12:30:00 AM"],
])("%s in %s is shown as %s on 27 November 2026", (at, timeZone, text) => {
  expect(shortTime(new Date(at), now, { timeZone, locale: "en-US" }).replaceAll("\u202f", " ")).toBe(text);
});

it("a time of the day is shown without its seconds where they are left out", () => {
  const text = shortTime(now, now, { timeZone: "UTC", locale: "en-US", hasSeconds: false });
  expect(text.replaceAll("\u202f", " ")).toBe("5:56 PM");
});
