import { describe, expect, it } from "@jest/globals";
import { endOfDay, startOfDay, zonedDay } from "./zoned-days.ts";

describe("the days of a zone", () => {
  it.each([
    ["2026-11-26", "UTC", "2026-11-26T00:00:00.000Z", "2026-11-26T23:59:59.999Z"],
    ["2026-11-26", "Europe/Stockholm", "2026-11-25T23:00:00.000Z", "2026-11-26T22:59:59.999Z"],
    ["2026-11-26", "Asia/Kolkata", "2026-11-25T18:30:00.000Z", "2026-11-26T18:29:59.999Z"],
    ["2026-11-26", "Pacific/Kiritimati", "2026-11-25T10:00:00.000Z", "2026-11-26T09:59:59.999Z"],
    // 23 and 25 hours: the clocks change.
    ["2026-03-29", "Europe/Stockholm", "2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.999Z"],
    ["2026-10-25", "Europe/Stockholm", "2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.999Z"],
  ])("%s in %s is from %s to %s", (day, zone, from, to) => {
    expect(startOfDay(day, zone).toISOString()).toBe(from);
    expect(endOfDay(day, zone).toISOString()).toBe(to);
    expect([zonedDay(from, zone), zonedDay(to, zone)]).toEqual([day, day]);
  });

  it("a text that is no instant has no day", () => {
    expect(zonedDay("yesterday", "UTC")).toBe("");
  });
});
