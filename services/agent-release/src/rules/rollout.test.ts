import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { budgetOf, type Counters, isInBucket, isInRing, isOverThreshold, type Limits, threshold } from "./rollout.ts";

const guard: Limits = { maxInFlight: 1_000, haltFailures: 50, haltPercent: 3 };

describe("a rollout's budget", () => {
  it("keeps failures below twice the threshold even if all attempts in flight fail", () => {
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
        const offers = budgetOf(chosen, counters);
        return failed + offers < 2 * threshold(chosen, counters) && offers <= chosen.maxInFlight;
      }),
    );
  });

  it("halts above the threshold, and not at it", () => {
    const counters = { inFlight: 0, succeeded: 100, failed: 50, failuresBeforeResume: 0 };
    expect(isOverThreshold(guard, counters)).toBe(false);
    expect(isOverThreshold(guard, { ...counters, failed: 51 })).toBe(true);
    expect(isOverThreshold(guard, { ...counters, failed: 51, failuresBeforeResume: 51 })).toBe(false);
    expect(threshold(guard, { ...counters, succeeded: 10_000, failed: 0 })).toBe(300);
  });

  it("grants no more than the cap", () => {
    expect(
      budgetOf({ ...guard, maxInFlight: 5 }, { inFlight: 0, succeeded: 0, failed: 0, failuresBeforeResume: 0 }),
    ).toBe(5);
    expect(
      budgetOf({ ...guard, maxInFlight: 5 }, { inFlight: 5, succeeded: 0, failed: 0, failuresBeforeResume: 0 }),
    ).toBe(0);
    expect(budgetOf(guard, { inFlight: 0, succeeded: 0, failed: 0, failuresBeforeResume: 0 })).toBe(99);
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

describe("a ring", () => {
  const device = { id: "d", orgId: "o", partnerId: "p", siteId: "s", groupIds: ["g"] };
  const ring = (change: object) => ({ name: "r", partnerIds: [], orgIds: [], siteIds: [], groupIds: [], ...change });

  it.each([{ partnerIds: ["p"] }, { orgIds: ["o"] }, { siteIds: ["s"] }, { groupIds: ["g"] }])(
    "covers a device by %j",
    (change) => {
      expect(isInRing([ring(change)], 1, device)).toBe(true);
      expect(isInRing([ring(change)], 0, device)).toBe(false);
      expect(isInRing([ring({ orgIds: ["other"] }), ring(change)], 1, device)).toBe(false);
      expect(isInRing([ring({ orgIds: ["other"] }), ring(change)], 2, device)).toBe(true);
    },
  );

  it("is not needed where a rollout has none", () => {
    expect(isInRing([], 0, device)).toBe(true);
  });
});
