/** Minutes that are counted: a request at the end of the oldest is still within 60 minutes of one under a grant made now. */
export const slots = 62;
/** Life of a grant, counted by the gateway from before it asked: the last request under a grant made at t happens before t + 1 s. */
export const grantMs = 1_000;
/** How long after a grant its unspent part may come back: its life, and the gateway's next settlement. */
export const lentMs = 2 * grantMs;

const minuteMs = 60_000;

/** One credential's requests by minute of the database's clock: minute m in `used[m % 62]`, none later than `baseMinute`. */
export type RateWindow = { baseMinute: number; used: readonly number[]; lentUntilMs: number };

export type Want = {
  /** Requests per hour. */
  limit: number;
  /** Requests that wait for the answer. */
  waiting: number;
  /** Requests expected within the life of a grant. */
  ahead: number;
};

export type Grant = {
  window: RateWindow;
  granted: number;
  remaining: number;
  /** Minute that was charged: that of the grant's expiry. */
  slot: number;
  resetAtMs: number;
  /** When a repeat makes sense; null when all that wait are served. `cacheable`: nothing can come back before that. */
  refusal: { retryAtMs: number; cacheable: boolean } | null;
};

export const emptyWindow: RateWindow = {
  baseMinute: 0,
  used: new Array<number>(slots).fill(0),
  lentUntilMs: Number.NEGATIVE_INFINITY,
};

/**
 * Grants what the window leaves of an hourly limit, so that no 60 minutes ever hold more requests than it
 * (docs/decisions/0009-rate-limit-by-grants.md). Near the limit nothing is granted ahead: what one gateway holds unspent, another refuses.
 */
export function grant(before: RateWindow, { limit, waiting, ahead }: Want, nowMs: number): Grant {
  const window = advance(before, nowMs);
  const slot = window.baseMinute;
  const free = Math.max(0, limit - sum(window.used));
  const served = Math.min(waiting, free);
  const extra = Math.min(ahead, aheadOf(limit, free - served));
  const granted = served + extra;
  const lent = extra > 0 ? nowMs + lentMs : window.lentUntilMs;
  const after = { ...charge(window, slot, granted), lentUntilMs: lent };
  const resetAtMs = resetOf(after);
  const refusal = served === waiting ? null : refusalOf(after, resetAtMs, nowMs);
  return { window: after, granted, remaining: free - granted, slot, resetAtMs, refusal };
}

/** Gives unspent grants back to the minute they were charged to; one that has left the window is gone. */
export function giveBack(window: RateWindow, slot: number, unspent: number): RateWindow {
  const counted = slot <= window.baseMinute && slot > window.baseMinute - slots;
  return counted ? charge(window, slot, -unspent) : window;
}

/** The window at a time: minutes that have left it are free again. A clock that went back does not move it. */
function advance(window: RateWindow, nowMs: number): RateWindow {
  const minute = Math.floor((nowMs + grantMs) / minuteMs);
  const passed = Math.min(slots, minute - window.baseMinute);
  if (passed <= 0) return window;
  const used = [...window.used];
  for (let i = 0; i < passed; i++) used[(minute - i) % slots] = 0;
  return { ...window, baseMinute: minute, used };
}

function charge(window: RateWindow, slot: number, count: number): RateWindow {
  const used = [...window.used];
  used[slot % slots] = Math.max(0, (used[slot % slots] ?? 0) + count);
  return { ...window, used };
}

/** At most a quarter of what is left beyond the last tenth of the limit, so that several gateways find something. */
function aheadOf(limit: number, left: number): number {
  const reserve = Math.max(100, Math.ceil(limit / 10));
  return Math.max(0, Math.floor((left - reserve) / 4));
}

/** When the oldest counted minute leaves: from then on grants expire a whole window after it. */
function resetOf({ baseMinute, used }: RateWindow): number {
  let oldest = baseMinute;
  for (let minute = baseMinute - slots + 1; minute < baseMinute; minute++) {
    if (minute >= 0 && (used[minute % slots] ?? 0) > 0) {
      oldest = minute;
      break;
    }
  }
  return (oldest + slots) * minuteMs - grantMs;
}

function refusalOf(window: RateWindow, resetAtMs: number, nowMs: number): Grant["refusal"] {
  const mayComeBack = window.lentUntilMs > nowMs;
  return { retryAtMs: mayComeBack ? window.lentUntilMs : resetAtMs, cacheable: !mayComeBack };
}

function sum(used: readonly number[]): number {
  let total = 0;
  for (const count of used) total += count;
  return total;
}
