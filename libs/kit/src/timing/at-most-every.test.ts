import { describe, expect, it, jest } from "@jest/globals";
import { atMostEvery } from "./at-most-every.ts";

describe("calls that share a pause", () => {
  it("run at once, and once more after the pause however often they were asked for in it", () => {
    jest.useFakeTimers();
    let runs = 0;
    const call = atMostEvery(10, () => {
      runs += 1;
    });
    const after = (ms: number) => {
      jest.advanceTimersByTime(ms);
      return runs;
    };
    call();
    expect(runs).toBe(1);
    for (let n = 0; n < 5; n++) call();
    expect([runs, after(9), after(1), after(50)]).toEqual([1, 1, 2, 2]);
    call();
    expect(runs).toBe(3);
    jest.useRealTimers();
  });
});
