import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { emptyWindow, giveBack, grant, grantMs, type RateWindow, slots } from "./rate-window.ts";

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** A full minute, far from 1970. */
const startMs = 29_000_000 * minuteMs;

type Lease = { slot: number; left: number; grantedAtMs: number };

type Step = {
  next(nowMs: number): number;
  waiting: number;
  ahead: number;
  spendMs: number;
  settle: boolean;
  half: boolean;
};

const anyTime = fc.integer({ min: 0, max: 2 * hourMs }).map((ms) => (nowMs: number) => nowMs + ms);
const soon = fc.integer({ min: 0, max: 1_500 }).map((ms) => (nowMs: number) => nowMs + ms);
/** Around the edge of a minute, which is also where an hour and the window end. */
const edge = fc
  .record({
    minutes: fc.constantFrom(0, 1, 58, 59, 60, 61, 62, 63),
    offsetMs: fc.constantFrom(-1_001, -1_000, -999, -1, 0, 1),
  })
  .map(({ minutes, offsetMs }) => (nowMs: number) => {
    return Math.max(nowMs, (Math.floor(nowMs / minuteMs) + minutes) * minuteMs + offsetMs);
  });

const steps = fc.array(
  fc.record({
    next: fc.oneof(anyTime, soon, { weight: 3, arbitrary: edge }),
    waiting: fc.integer({ min: 0, max: 40 }),
    ahead: fc.integer({ min: 0, max: 2_000 }),
    /** Milliseconds into its life at which a grant is spent; beyond the life nothing is. */
    spendMs: fc.oneof(fc.constantFrom(0, 1, grantMs - 1), fc.integer({ min: 0, max: grantMs + 200 })),
    settle: fc.boolean(),
    half: fc.boolean(),
  }),
  { minLength: 1, maxLength: 60 },
);

/** Times of admitted requests under random asking, spending and settling by several gateways. */
function admissions(limit: number, path: readonly Step[]): number[] {
  let nowMs = startMs;
  let window: RateWindow = emptyWindow;
  const times: number[] = [];
  let leases: Lease[] = [];
  for (const step of path) {
    nowMs = step.next(nowMs);
    const asked = grant(window, { limit, waiting: step.waiting, ahead: step.ahead }, nowMs);
    window = asked.window;
    leases.push({ slot: asked.slot, left: asked.granted, grantedAtMs: nowMs });
    for (const lease of leases) {
      const at = lease.grantedAtMs + step.spendMs;
      if (at < nowMs || at >= lease.grantedAtMs + grantMs) continue;
      const spent = step.half ? Math.floor(lease.left / 2) : lease.left;
      for (let i = 0; i < spent; i++) times.push(at);
      lease.left -= spent;
    }
    if (step.settle) {
      // Given back once its life is over, as gateways do; a killed gateway never does.
      const over = leases.filter((lease) => lease.grantedAtMs + grantMs <= nowMs);
      for (const lease of over) window = giveBack(window, lease.slot, lease.left);
      leases = leases.filter((lease) => !over.includes(lease));
    }
  }
  return times.sort((a, b) => a - b);
}

describe("the hourly window", () => {
  it("never admits more than the limit in any 60 minutes", () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 100, 1_000), steps, (limit, path) => {
        const times = admissions(limit, path);
        for (let i = 0; i + limit < times.length; i++) {
          const within = (times[i + limit] as number) - (times[i] as number);
          if (within < hourMs) return false;
        }
        return true;
      }),
      { numRuns: 1_000 },
    );
  });

  it("admits exactly the limit to any number of requests that wait", () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 100, 1_000), fc.array(fc.integer({ min: 1, max: 60 })), (limit, asks) => {
        let window: RateWindow = emptyWindow;
        let served = 0;
        for (const waiting of asks) {
          const asked = grant(window, { limit, waiting, ahead: 0 }, startMs);
          window = asked.window;
          served += asked.granted;
        }
        const wanted = asks.reduce((total, n) => total + n, 0);
        return served === Math.min(limit, wanted);
      }),
    );
  });

  it("gives back no more than was granted, whatever comes back when", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: -70, max: 70 }), (unspent, minutes) => {
        const { window, slot } = grant(emptyWindow, { limit: 100, waiting: 100, ahead: 0 }, startMs);
        const later = grant(window, { limit: 100, waiting: 0, ahead: 0 }, startMs + minutes * minuteMs).window;
        const { used } = giveBack(later, slot, unspent);
        return used.every((count) => count >= 0) && used.reduce((total, n) => total + n, 0) <= 100;
      }),
    );
  });

  it("refuses around the slot's and the hour's edge, and admits when the oldest minute has left", () => {
    // Spent in the last millisecond of its life, which is the last of its minute.
    const grantedMs = startMs + minuteMs - grantMs - 1;
    const first = grant(emptyWindow, { limit: 1, waiting: 1, ahead: 0 }, grantedMs);
    const spentMs = startMs + minuteMs - 1;
    const ask = (nowMs: number) => grant(first.window, { limit: 1, waiting: 1, ahead: 0 }, nowMs).granted;
    expect(first.slot).toBe(startMs / minuteMs);
    expect(ask(spentMs + hourMs)).toBe(0);
    expect(ask(first.resetAtMs - 1)).toBe(0);
    expect(ask(first.resetAtMs)).toBe(1);
    expect(first.resetAtMs - spentMs).toBeLessThan(hourMs + 2 * minuteMs);
  });

  it("charges a grant to the minute it expires in", () => {
    const { slot } = grant(emptyWindow, { limit: 9, waiting: 1, ahead: 0 }, startMs + minuteMs - 1);
    expect(slot).toBe(startMs / minuteMs + 1);
  });

  it("stays where it is when the clock goes back", () => {
    const { window } = grant(emptyWindow, { limit: 2, waiting: 2, ahead: 0 }, startMs);
    const back = grant(window, { limit: 2, waiting: 1, ahead: 0 }, startMs - 5 * hourMs);
    expect([back.granted, back.slot]).toEqual([0, startMs / minuteMs]);
  });

  it("admits more at once when the limit is raised, and nothing below zero when it is lowered", () => {
    const { window } = grant(emptyWindow, { limit: 3, waiting: 5, ahead: 0 }, startMs);
    expect(grant(window, { limit: 5, waiting: 5, ahead: 0 }, startMs)).toMatchObject({ granted: 2, remaining: 0 });
    expect(grant(window, { limit: 1, waiting: 5, ahead: 0 }, startMs)).toMatchObject({ granted: 0, remaining: 0 });
  });

  it("grants nothing ahead near the limit", () => {
    const far = grant(emptyWindow, { limit: 1_000, waiting: 1, ahead: 500 }, startMs);
    expect(far.granted).toBe(1 + Math.floor((999 - 100) / 4));
    const near = grant(emptyWindow, { limit: 100, waiting: 1, ahead: 500 }, startMs);
    expect(near.granted).toBe(1);
  });

  it("says that a refusal is not final while grants may come back", () => {
    const { window } = grant(emptyWindow, { limit: 1_000, waiting: 0, ahead: 100 }, startMs);
    const refused = grant(window, { limit: 50, waiting: 1, ahead: 0 }, startMs);
    expect(refused.refusal).toMatchObject({ cacheable: false, retryAtMs: startMs + 2 * grantMs });
    const later = grant(window, { limit: 50, waiting: 1, ahead: 0 }, startMs + 2 * grantMs);
    expect(later.refusal).toEqual({ cacheable: true, retryAtMs: later.resetAtMs });
  });

  it("counts 62 minutes", () => {
    expect(emptyWindow.used).toHaveLength(slots);
  });
});
