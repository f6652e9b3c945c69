import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  budgetOf,
  type Counters,
  isInBucket,
  isOverThreshold,
  type Limits,
  type Part,
  partBudgetOf,
  threshold,
} from "./rollout.ts";

const atOnce = { startBudget: 0, firstDeviceAlone: false };
const guard: Limits = { maxInFlight: 1_000, haltFailures: 50, haltPercent: 3 };

describe("a rollout's budget", () => {
  it("keeps failures below twice the threshold, or half of the successes, even if all in flight fail", () => {
    const counts = fc.nat({ max: 100_000 });
    const limits = fc.record<Limits>({
      maxInFlight: fc.integer({ min: 1, max: 5_000 }),
      haltFailures: fc.integer({ min: 1, max: 500 }),
      haltPercent: fc.double({ min: 0, max: 20, noNaN: true }),
    });
    fc.assert(
      fc.property(limits, counts, fc.nat({ max: 1_000 }), (chosen, succeeded, failed) => {
        const counters: Counters = { inFlight: 0, succeeded, failed, failuresBeforeResume: 0 };
        if (isOverThreshold(chosen, counters)) return true;
        const offers = budgetOf(chosen, counters, atOnce);
        const most = Math.max(2 * threshold(chosen, counters) - 1, succeeded / 2);
        return (offers === 0 || failed + offers <= most) && offers <= chosen.maxInFlight;
      }),
    );
  });

  it("halts above the threshold, and not at it", () => {
    const counters = { inFlight: 0, succeeded: 1_600, failed: 50, failuresBeforeResume: 0 };
    expect(isOverThreshold(guard, counters)).toBe(false);
    expect(isOverThreshold(guard, { ...counters, failed: 51 })).toBe(true);
    expect(isOverThreshold(guard, { ...counters, failed: 51, failuresBeforeResume: 51 })).toBe(false);
    expect(threshold(guard, { ...counters, succeeded: 10_000, failed: 0 })).toBe(300);
    expect(threshold(guard, { ...counters, succeeded: 9_000, failed: 1_200, failuresBeforeResume: 200 })).toBe(300);
  });

  it("grants no more than the cap", () => {
    const none = { inFlight: 0, succeeded: 0, failed: 0, failuresBeforeResume: 0 };
    expect(budgetOf({ ...guard, maxInFlight: 5 }, none, atOnce)).toBe(5);
    expect(budgetOf({ ...guard, maxInFlight: 5 }, { ...none, inFlight: 5 }, atOnce)).toBe(0);
    expect(budgetOf(guard, none, atOnce)).toBe(99);
  });

  it.each([
    [1, 2, false],
    [2, 2, false],
    [3, 3, true],
    [3, 5, true],
    [3, 6, false],
    [4, 40, false],
    [8, 40, true],
    [5, 100, false],
    [40, 1_000, false],
    [55, 1_000, true],
  ])("with %d of %d updates failed is halted by their share: %s", (failed, ended, halts) => {
    const counters = { inFlight: 0, succeeded: ended - failed, failed, failuresBeforeResume: 0 };
    expect(isOverThreshold(guard, counters)).toBe(halts);
    expect(isOverThreshold({ ...guard, haltPercent: 100 }, counters)).toBe(false);
  });

  it("starts with five for each part, and doubles with each success", () => {
    const part: Part = {
      kind: "organization",
      inFlight: 0,
      succeeded: 0,
      failed: 0,
      failuresBeforeResume: 0,
      firstEnded: false,
      isHalted: false,
    };
    const ramp = { startBudget: 5, firstDeviceAlone: true };
    const budget = (change: Partial<Part>, kind: "guard" | "staged" = "staged") =>
      partBudgetOf(kind, { ...part, ...change }, ramp);
    expect([
      budget({}),
      budget({ inFlight: 5 }),
      budget({ succeeded: 1 }),
      budget({ succeeded: 3, inFlight: 7 }),
    ]).toEqual([5, 0, 10, 33]);
    expect(budget({ isHalted: true })).toBe(0);
    const platform = { kind: "platform" as const };
    expect([budget(platform), budget({ ...platform, inFlight: 1 }), budget({ ...platform, firstEnded: true })]).toEqual(
      [1, 0, 5],
    );
    expect(budget(platform, "guard")).toBe(5);
    expect(partBudgetOf("staged", { ...part, ...platform, inFlight: 9 }, atOnce)).toBeGreaterThan(1_000_000);
  });
});

describe("a bucket", () => {
  const rollout = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";

  it("only gains devices while the percentage rises", () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.double({ min: 0, max: 100, noNaN: true }),
        (device, a, b) => {
          const [less, more] = [Math.min(a, b), Math.max(a, b)];
          return !isInBucket(rollout, device, less) || isInBucket(rollout, device, more);
        },
      ),
    );
  });

  it.each([1, 10, 50, 90])("holds %d %% of 100,000 devices within one point", (percent) => {
    let held = 0;
    for (let n = 0; n < 100_000; n++) if (isInBucket(rollout, `device-${n}`, percent)) held++;
    expect(Math.abs(held / 1_000 - percent)).toBeLessThan(1);
  });

  it("holds no device at 0 %, and all at 100 %", () => {
    expect([isInBucket(rollout, "x", 0), isInBucket(rollout, "x", 100)]).toEqual([false, true]);
  });
});
