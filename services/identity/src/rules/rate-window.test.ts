import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  emptyWindow,
  type Grant,
  giveBack,
  grant,
  grantMs,
  lentMs,
  needsBetween,
  type RateWindow,
  slotMs,
  slots,
  type Want,
} from "./rate-window.ts";

const hourMs = 3_600_000;
/** The beginning of a slot, far from 1970. */
const startMs = 870_000_000 * slotMs;

type Lease = { slot: number; left: number; grantedAtMs: number };

/**
 * A window as the store keeps it: the slots between are loaded only when they are needed, and written when they
 * changed.
 */
function stored(limit = 0) {
  let kept: RateWindow = emptyWindow;
  let between = emptyWindow.between;
  let loads = 0;
  return {
    grant(want: Partial<Want>, nowMs: number): Grant {
      const loaded = needsBetween({ ...kept, between: null }, nowMs);
      if (loaded) loads += 1;
      const granted = grant(
        { ...kept, between: loaded ? between : null },
        { limit, waiting: 0, ahead: 0, ...want },
        nowMs,
      );
      kept = granted.window;
      if (kept.between !== null) between = kept.between;
      return granted;
    },
    giveBack(slot: number, unspent: number) {
      kept = giveBack({ ...kept, between: null }, slot, unspent);
    },
    get window() {
      return kept;
    },
    get loads() {
      return loads;
    },
  };
}

type Step = {
  next(nowMs: number): number;
  waiting: number;
  ahead: number;
  spendMs: number;
  settle: boolean;
  half: boolean;
};

const anyTime = fc.integer({ min: 0, max: 2 * hourMs }).map((ms) => (nowMs: number) => nowMs + ms);
const soon = fc.integer({ min: 0, max: 2_500 }).map((ms) => (nowMs: number) => nowMs + ms);
const minutes = fc.integer({ min: 0, max: 65 }).map((count) => (nowMs: number) => nowMs + count * 60_000);
/** Around the edge of a slot, which is also where an hour and the window end. */
const edge = fc
  .record({
    passed: fc.constantFrom(0, 1, 29, 30, 31, 59, 60, 61, 1_741, 1_742, 1_799, 1_800, 1_801, 1_802, 1_803),
    offsetMs: fc.constantFrom(-grantMs - 1, -grantMs, -grantMs + 1, -1_000, -1, 0, 1),
  })
  .map(({ passed, offsetMs }) => (nowMs: number) => {
    return Math.max(nowMs, (Math.floor(nowMs / slotMs) + passed) * slotMs + offsetMs);
  });

const steps = fc.array(
  fc.record({
    next: fc.oneof(anyTime, soon, minutes, { weight: 3, arbitrary: edge }),
    waiting: fc.integer({ min: 0, max: 40 }),
    ahead: fc.integer({ min: 0, max: 2_000 }),
    /** Milliseconds into its life at which a grant is spent; beyond the life nothing is. */
    spendMs: fc.oneof(fc.constantFrom(0, 1, grantMs - 1), fc.integer({ min: 0, max: grantMs + 200 })),
    settle: fc.boolean(),
    half: fc.boolean(),
  }),
  { minLength: 1, maxLength: 80 },
);

/** Times of admitted requests under random asking, spending and settling by several gateways. */
function admissions(limit: number, path: readonly Step[]): number[] {
  let nowMs = startMs;
  const window = stored(limit);
  const times: number[] = [];
  let leases: Lease[] = [];
  for (const step of path) {
    nowMs = step.next(nowMs);
    const granted = window.grant({ waiting: step.waiting, ahead: step.ahead }, nowMs);
    leases.push({ slot: granted.slot, left: granted.granted, grantedAtMs: nowMs });
    for (const lease of leases) {
      const at = lease.grantedAtMs + step.spendMs;
      if (at < nowMs || at >= lease.grantedAtMs + grantMs) continue;
      const spent = step.half ? Math.floor(lease.left / 2) : lease.left;
      for (let i = 0; i < spent; i++) times.push(at);
      lease.left -= spent;
    }
    if (step.settle) {
      // Returned once its life is over, as gateways do; a killed gateway never does.
      const over = leases.filter((lease) => lease.grantedAtMs + grantMs <= nowMs);
      for (const lease of over) window.giveBack(lease.slot, lease.left);
      leases = leases.filter((lease) => !over.includes(lease));
    }
  }
  return times.sort((a, b) => a - b);
}

describe("the hourly window", () => {
  it("never admits more than the limit in any 3,600 s", () => {
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

  it.each([1, 7, 10, 100, 1_000, 20_000])("never refuses a client that spends 99 %% of %d an hour evenly", (limit) => {
    const window = stored(limit);
    const everyMs = hourMs / (0.99 * limit);
    const refused: number[] = [];
    for (let i = 0; i < 3 * limit; i++) {
      const { granted } = window.grant({ waiting: 1 }, Math.round(startMs + i * everyMs));
      if (granted === 0) refused.push(i);
    }
    expect(refused).toEqual([]);
  });

  it("never reports a wait of more than 3,600 s", () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 100), steps, (limit, path) => {
        const window = stored(limit);
        let nowMs = startMs;
        return path.every((step) => {
          nowMs = step.next(nowMs);
          const { resetAtMs, refusal } = window.grant({ waiting: step.waiting, ahead: step.ahead }, nowMs);
          const waits = [resetAtMs - nowMs, (refusal?.retryAtMs ?? nowMs + 1) - nowMs];
          return waits.every((ms) => ms > 0 && ms <= hourMs);
        });
      }),
    );
  });

  it("admits again at most 4 s after the hour of the spent requests", () => {
    const window = stored(5);
    window.grant({ waiting: 5 }, startMs);
    expect(window.grant({ waiting: 1 }, startMs + hourMs - 1).granted).toBe(0);
    expect(window.grant({ waiting: 5 }, startMs + hourMs + 2 * slotMs).granted).toBe(5);
  });

  it("admits exactly the limit to any number of requests that wait", () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 100, 1_000), fc.array(fc.integer({ min: 1, max: 60 })), (limit, asks) => {
        const window = stored(limit);
        let served = 0;
        for (const waiting of asks) served += window.grant({ waiting }, startMs).granted;
        const wanted = asks.reduce((total, n) => total + n, 0);
        return served === Math.min(limit, wanted);
      }),
    );
  });

  it("returns no more than was granted, whatever is returned when", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: -70, max: 70 }), (unspent, minute) => {
        const window = stored(100);
        const { slot } = window.grant({ waiting: 100 }, startMs);
        window.grant({}, startMs + minute * 60_000);
        window.giveBack(slot, unspent);
        const left = window.grant({}, startMs + minute * 60_000).remaining;
        return left >= 0 && left <= 100;
      }),
    );
  });

  it("returns unspent grants at the gateway's next settlements", () => {
    const window = stored(10);
    const { slot } = window.grant({ waiting: 10 }, startMs);
    window.grant({}, startMs + 30_000);
    window.giveBack(slot, 4);
    expect(window.grant({ waiting: 10 }, startMs + 30_000)).toMatchObject({ granted: 4, remaining: 0 });
  });

  it("refuses around the edges of slot and hour, and admits when the oldest slot has left", () => {
    // Spent in the last millisecond of its life, which is the last of its slot.
    const grantedMs = startMs + slotMs - grantMs - 1;
    const window = stored(1);
    const { slot } = window.grant({ waiting: 1 }, grantedMs);
    const spentMs = grantedMs + grantMs - 1;
    const leavesMs = (slot + slots) * slotMs - grantMs;
    expect(slot).toBe(startMs / slotMs);
    expect(window.grant({ waiting: 1 }, spentMs + hourMs).granted).toBe(0);
    expect(window.grant({ waiting: 1 }, leavesMs - 1).granted).toBe(0);
    expect(window.grant({ waiting: 1 }, leavesMs).granted).toBe(1);
  });

  it("charges a grant to the slot it expires in", () => {
    expect(stored(9).grant({ waiting: 1 }, startMs + slotMs - 1).slot).toBe(startMs / slotMs + 1);
  });

  it("does not move when the clock goes back", () => {
    const window = stored(2);
    window.grant({ waiting: 2 }, startMs);
    const back = window.grant({ waiting: 1 }, startMs - 5 * hourMs);
    expect([back.granted, back.slot]).toEqual([0, startMs / slotMs + grantMs / slotMs]);
  });

  it("admits more at once when the limit is raised, and nothing below zero when it is lowered", () => {
    const window = stored(3);
    window.grant({ waiting: 5 }, startMs);
    expect(window.grant({ limit: 1, waiting: 5 }, startMs)).toMatchObject({ granted: 0, remaining: 0 });
    expect(window.grant({ limit: 5, waiting: 5 }, startMs)).toMatchObject({ granted: 2, remaining: 0 });
  });

  it("prefetches nothing near the limit", () => {
    const far = grant(emptyWindow, { limit: 1_000, waiting: 1, ahead: 500 }, startMs);
    expect(far.granted).toBe(1 + Math.floor((999 - 100) / 4));
    const near = grant(emptyWindow, { limit: 100, waiting: 1, ahead: 500 }, startMs);
    expect(near.granted).toBe(1);
  });

  it("reports a refusal as not final while grants may be returned", () => {
    const { window } = grant(emptyWindow, { limit: 1_000, waiting: 0, ahead: 100 }, startMs);
    const refused = grant(window, { limit: 50, waiting: 1, ahead: 0 }, startMs);
    expect(refused.refusal).toMatchObject({ cacheable: false, retryAtMs: startMs + lentMs });
    const later = grant(window, { limit: 50, waiting: 1, ahead: 0 }, startMs + lentMs);
    expect(later.refusal).toEqual({ cacheable: true, retryAtMs: later.resetAtMs });
  });

  it("loads the slots between once a minute for a client that never idles, and keeps the rest small", () => {
    const window = stored(1_000_000);
    const seconds = 2 * 3_600;
    for (let second = 0; second < seconds; second++) window.grant({ waiting: 2 }, startMs + second * 1_000);
    expect(window.loads).toBeLessThanOrEqual(seconds / 60);
    expect(window.window.leaving.length + window.window.recent.length).toBeLessThanOrEqual(2 * (60 + 60 + 2));
    expect(window.grant({}, startMs + seconds * 1_000).remaining).toBe(1_000_000 - 2 * 3_602);
  });
});
