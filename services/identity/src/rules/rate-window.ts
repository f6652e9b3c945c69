/** Grain of the window: requests are counted by slots of 2 s of the database's clock. */
export const slotMs = 2_000;
/** Slots that are counted: a request at the end of the oldest is still within an hour of one under a grant made now. */
export const slots = 1_802;
/**
 * Life of a grant, counted by the gateway from before its call: the last request under a grant made at t happens before
 * t + 2 s. As long as a gateway's lease, so that requests which the lease still covers are not refused for want of a
 * grant.
 */
export const grantMs = 2_000;
/** Time after a grant in which its unspent part may be returned: its life, and the gateway's next settlement. */
export const lentMs = grantMs + 1_000;

const hourMs = 3_600_000;
/**
 * After a fold the youngest minute and the two minutes that leave next stay unfolded; at most one fold is due per
 * minute.
 */
const recentSlots = 30;
const leavingSlots = 60;

/** Requests by slot: slot, count, slot, count, … from the oldest on; empty slots are omitted. */
export type Counts = readonly number[];

/**
 * One credential's requests of the last hour. All slots together take up to 14 KiB, and a grant needs few of them: the
 * slots that leave next and those charged now are stored apart, and of the slots between only the sum is needed until
 * the first of them leaves.
 */
export type RateWindow = {
  leaving: Counts;
  /** Null while it is not loaded. */
  between: Counts | null;
  betweenUsed: number;
  /** Oldest slot between; null when there is none. */
  betweenFrom: number | null;
  recent: Counts;
  lentUntilMs: number;
};

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
  /** Slot that was charged: that of the grant's expiry. */
  slot: number;
  resetAtMs: number;
  /**
   * When a repeat may succeed; null when all waiting requests are served. `cacheable`: no grant can be returned before
   * that.
   */
  refusal: { retryAtMs: number; cacheable: boolean } | null;
};

export const emptyWindow: RateWindow = {
  leaving: [],
  between: [],
  betweenUsed: 0,
  betweenFrom: null,
  recent: [],
  lentUntilMs: Number.NEGATIVE_INFINITY,
};

/**
 * Whether `grant` needs the slots between at this time: the first of them leaves, or a minute's worth has to be folded
 * in.
 */
export function needsBetween(window: RateWindow, nowMs: number): boolean {
  return window.betweenFrom !== null && isFoldDue(window, slotAt(window, nowMs));
}

/**
 * Grants the rest of an hourly limit, so that no 3,600 s ever hold more requests than the limit
 * (docs/decisions/0067-hourly-limits-are-counted-in-slots-of-two-seconds.md). Near the limit nothing is prefetched:
 * requests that one gateway holds unspent would be refused by another. Throws when the slots between are needed and not
 * loaded.
 */
export function grant(before: RateWindow, { limit, waiting, ahead }: Want, nowMs: number): Grant {
  const slot = slotAt(before, nowMs);
  const window = advance(before, slot);
  const free = Math.max(0, limit - usedOf(window));
  const served = Math.min(waiting, free);
  const extra = Math.min(ahead, aheadOf(limit, free - served));
  const granted = served + extra;
  const lentUntilMs = extra > 0 ? nowMs + lentMs : window.lentUntilMs;
  const after = { ...window, recent: charged(window.recent, slot, granted), lentUntilMs };
  const resetAtMs = Math.min(nowMs + hourMs, leavesAtMs(oldestOf(after) ?? slot));
  const refusal = served === waiting ? null : refusalOf(after, resetAtMs, nowMs);
  return { window: after, granted, remaining: free - granted, slot, resetAtMs, refusal };
}

/**
 * Returns unspent grants to the slot they were charged to; after a minute or two they stay charged until the slot
 * leaves.
 */
export function giveBack(window: RateWindow, slot: number, unspent: number): RateWindow {
  const at = indexOf(window.recent, slot);
  if (at < 0) return window;
  const recent = [...window.recent];
  recent[at + 1] = Math.max(0, (recent[at + 1] as number) - unspent);
  return { ...window, recent };
}

/** The slot in which a grant made at this time ends. A clock that went back does not go behind what is counted. */
function slotAt({ recent, between, leaving }: RateWindow, nowMs: number): number {
  return Math.max(Math.floor((nowMs + grantMs) / slotMs), lastSlot(recent) ?? lastSlot(between ?? leaving) ?? 0);
}

/** The window at a slot, without the slots that have left it. */
function advance(window: RateWindow, slot: number): RateWindow {
  const gone = slot - slots;
  if (!isFoldDue(window, slot)) return { ...window, leaving: after(window.leaving, gone) };
  const between = window.betweenFrom === null ? [] : window.between;
  if (between === null) throw new Error("the slots between are needed and were not loaded");
  return fold(after([...window.leaving, ...between, ...window.recent], gone), slot, window.lentUntilMs);
}

function isFoldDue({ betweenFrom, recent }: RateWindow, slot: number): boolean {
  const leaves = betweenFrom !== null && betweenFrom <= slot - slots;
  return leaves || (recent.length > 0 && (recent[0] as number) <= slot - 2 * recentSlots);
}

function fold(all: Counts, slot: number, lentUntilMs: number): RateWindow {
  const leavingEnd = splitAfter(all, slot - slots + leavingSlots);
  const recentStart = Math.max(leavingEnd, splitAfter(all, slot - recentSlots));
  const between = all.slice(leavingEnd, recentStart);
  return {
    leaving: all.slice(0, leavingEnd),
    between,
    betweenUsed: sum(between),
    betweenFrom: between[0] ?? null,
    recent: all.slice(recentStart),
    lentUntilMs,
  };
}

function charged(recent: Counts, slot: number, count: number): Counts {
  if (count === 0) return recent;
  if (lastSlot(recent) !== slot) return [...recent, slot, count];
  return [...recent.slice(0, -1), (recent[recent.length - 1] as number) + count];
}

/** At most a quarter of what is left above the last tenth of the limit, so that several gateways get a share. */
function aheadOf(limit: number, left: number): number {
  const reserve = Math.max(100, Math.ceil(limit / 10));
  return Math.max(0, Math.floor((left - reserve) / 4));
}

/** From then on grants end a whole window after the slot. */
const leavesAtMs = (slot: number) => (slot + slots) * slotMs - grantMs;

/** Oldest slot that holds a request: when it leaves, requests become free again. */
function oldestOf({ leaving, betweenFrom, recent }: RateWindow): number | null {
  return firstUsed(leaving) ?? betweenFrom ?? firstUsed(recent);
}

function refusalOf(window: RateWindow, resetAtMs: number, nowMs: number): Grant["refusal"] {
  const mayComeBack = window.lentUntilMs > nowMs;
  return { retryAtMs: mayComeBack ? window.lentUntilMs : resetAtMs, cacheable: !mayComeBack };
}

const usedOf = ({ leaving, betweenUsed, recent }: RateWindow) => sum(leaving) + betweenUsed + sum(recent);

function sum(counts: Counts): number {
  let total = 0;
  for (let i = 1; i < counts.length; i += 2) total += counts[i] as number;
  return total;
}

function firstUsed(counts: Counts): number | null {
  for (let i = 0; i < counts.length; i += 2) if ((counts[i + 1] as number) > 0) return counts[i] as number;
  return null;
}

const lastSlot = (counts: Counts): number | null => counts[counts.length - 2] ?? null;

function indexOf(counts: Counts, slot: number): number {
  for (let i = counts.length - 2; i >= 0; i -= 2) if (counts[i] === slot) return i;
  return -1;
}

/** Where the slots behind this one begin. */
function splitAfter(counts: Counts, slot: number): number {
  let at = 0;
  while (at < counts.length && (counts[at] as number) <= slot) at += 2;
  return at;
}

function after(counts: Counts, slot: number): Counts {
  const at = splitAfter(counts, slot);
  return at === 0 ? counts : counts.slice(at);
}
