import { describe, expect, it } from "@jest/globals";
import { delaysOf, type RetrySchedule, retryScheduleError, retryScheduleOf, totalSeconds } from "./retry-schedule.ts";

const own = (delaysSeconds: number[], jitterPercent = 0) => ({ name: "", delaysSeconds, jitterPercent });
const times = (count: number, seconds: number) => Array.from({ length: count }, () => seconds);

describe("a retry schedule as it was sent", () => {
  it.each<[Parameters<typeof retryScheduleOf>[0], RetrySchedule]>([
    [undefined, "standard"],
    [{ ...own([]), name: "standard" }, "standard"],
    [{ ...own([]), name: "extended" }, "extended"],
    [own([1]), { delaysSeconds: [1], jitterPercent: 0 }],
    [own(times(16, 86_400), 20), { delaysSeconds: times(16, 86_400), jitterPercent: 20 }],
  ])("%j is %j", (input, schedule) => {
    const errors = {};
    expect(retryScheduleOf(input, errors)).toEqual(schedule);
    expect(errors).toEqual({});
  });

  it.each([
    { ...own([1]), name: "daily" },
    own([]),
    own(times(17, 1)),
    own([0]),
    own([86_401]),
    own([1.5]),
    own([1], -1),
    own([1], 21),
    own([1], 0.5),
  ])("is refused as %j", (input) => {
    const errors = {};
    retryScheduleOf(input, errors);
    expect(Object.keys(errors)).toEqual(["retrySchedule"]);
  });
});

describe("the delays of a schedule", () => {
  it("are 5 s to a day when it is extended: three days and some hours in all", () => {
    expect(delaysOf("standard")).toBeNull();
    expect(totalSeconds(delaysOf("extended") ?? own([]))).toBe(5 + 300 + 1_800 + 75 * 3_600);
  });

  it.each<[RetrySchedule, boolean, number, RegExp | null]>([
    ["standard", true, 1, null],
    ["extended", false, 4, null],
    ["extended", false, 3, /less than 3 days/],
    [own([86_399]), false, 1, null],
    [own([86_400]), false, 1, /less than 1 day,/],
    [own([72_000], 20), false, 1, /less than 1 day,/],
    [own([599]), true, 1, null],
    [own([300, 300]), true, 1, /10 minutes/],
    [own([500], 20), true, 1, /10 minutes/],
    [own([500], 19), true, 1, null],
  ])("%j of a webhook whose order counts (%j), with payloads for %i days", (schedule, ordered, days, error) => {
    const found = retryScheduleError(schedule, ordered, days);
    if (error === null) expect(found).toBeNull();
    else expect(found).toMatch(error);
  });
});
