import { expect, it } from "@jest/globals";
import { ago } from "./ago.ts";

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
  ["2025-12-10T12:00:00Z", "3 mo. ago"],
  ["2020-03-10T12:00:00Z", "6 yr. ago"],
])("%s is %s at noon of 10 March 2026", (instant, words) => {
  expect(ago(new Date(instant), now)).toBe(words);
});
