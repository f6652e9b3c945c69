import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Day, days, type Window, windowAt } from "./window.ts";

// 2024-02-29 was a Thursday.
const at = (text: string) => new Date(`${text}Z`);
const nightly: Window = { days: ["thu"], start: 22 * 60, end: 4 * 60 };

describe("a maintenance window", () => {
  it.each<[string, Window, string, boolean, string | null]>([
    ["unset is always open", { days: null, start: null, end: null }, "2024-02-29T12:00:00", true, null],
    ["opens at its start", nightly, "2024-02-29T21:59:59", false, "2024-02-29T22:00:00"],
    ["is open at its start", nightly, "2024-02-29T22:00:00", true, null],
    ["goes on over midnight", nightly, "2024-03-01T00:00:00", true, null],
    ["is open until its end", nightly, "2024-03-01T03:59:59", true, null],
    ["is closed at its end, until a week later", nightly, "2024-03-01T04:00:00", false, "2024-03-07T22:00:00"],
    ["belongs to the day it starts on", nightly, "2024-02-29T03:00:00", false, "2024-02-29T22:00:00"],
    [
      "with start and end alike is the whole day",
      { days: ["thu"], start: 600, end: 600 },
      "2024-02-29T09:59:00",
      false,
      "2024-02-29T10:00:00",
    ],
    ["lasts a day then", { days: ["thu"], start: 600, end: 600 }, "2024-03-01T09:59:59", true, null],
    [
      "of a day without times is that day",
      { days: ["thu"], start: null, end: null },
      "2024-02-29T23:59:59",
      true,
      null,
    ],
    [
      "of a day without times ends with the day",
      { days: ["thu"], start: null, end: null },
      "2024-03-01T00:00:00",
      false,
      "2024-03-07T00:00:00",
    ],
    ["without an end lasts until midnight", { days: null, start: 1_380, end: null }, "2024-02-29T23:30:00", true, null],
  ])("%s", (_name, window, now, open, next) => {
    expect(windowAt(window, at(now))).toEqual({ open, nextOpening: next === null ? null : at(next) });
  });

  it("opens exactly at its next opening, and never before", () => {
    const window = fc.record({
      days: fc.option(fc.uniqueArray(fc.constantFrom<Day>(...days), { minLength: 1 })),
      start: fc.option(fc.integer({ min: 0, max: 1_439 })),
      end: fc.option(fc.integer({ min: 0, max: 1_440 })),
    });
    const now = fc.date({ min: at("2023-12-20T00:00:00"), max: at("2024-03-10T00:00:00"), noInvalidDate: true });
    fc.assert(
      fc.property(window, now, (chosen, moment) => {
        const { open, nextOpening } = windowAt(chosen, moment);
        if (open || nextOpening === null) return open;
        const minuteBefore = new Date(nextOpening.getTime() - 1);
        return nextOpening > moment && windowAt(chosen, nextOpening).open && !windowAt(chosen, minuteBefore).open;
      }),
      { numRuns: 2_000 },
    );
  });
});
