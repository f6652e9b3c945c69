import { expect, it } from "@jest/globals";
import { ago, lasted } from "./ago.ts";

const now = new Date("2026-03-10T12:00:00Z");
it.each([
  ["2026-03-10T12:00:00Z", "now"],
  ["2026-03-10T12:00:02Z", "now"],
  ["2026-03-10T12:00:09Z", "in 9 sec."],
  ["2026-03-10T11:59:15Z", "45 sec. ago"],
  ["2026-03-10T11:59:00.4Z", "1 min. ago"],
  ["2026-03-10T09:00:00Z", "3 hr. ago"],
  ["2026-03-09T12:00:00Z", "yesterday"],
  ["2026-03-17T12:00:00Z", "in 7 days"],
  ["2025-12-10T12:00:00Z", "3 months ago"],
  ["2020-03-10T12:00:00Z", "6 years ago"],
])("%s is %s at noon of 10 March 2026", (instant, words) => {
  expect(ago(new Date(instant), now)).toBe(words);
});

it("how long ago an instant was has whole words in sentences", () => {
  expect(ago(new Date("2026-03-10T09:00:00Z"), now, "long")).toBe("3 hours ago");
});

it.each([
  ["2026-03-10T12:00:10Z", "minute"],
  ["2026-03-10T11:33:00Z", "27 minutes"],
  ["2026-03-10T11:00:00Z", "hour"],
  ["2026-03-09T06:00:00Z", "30 hours"],
  ["2026-03-01T12:00:00Z", "9 days"],
])("what began at %s failed in the last %s at noon of 10 March 2026", (since, words) => {
  expect(lasted(new Date(since), now)).toBe(words);
});
