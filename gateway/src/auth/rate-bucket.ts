/** A counted credential, and its hourly limit. */
export type Counted = {
  kind: "key" | "session" | "agent" | "directory";
  id: string;
  limit: number;
  generation: number;
};

/**
 * The state of a credential's hour after one request; times in seconds, `resetSeconds` since 1970 and `afterSeconds`
 * from now.
 */
export type Rate = { admitted: boolean; limit: number; remaining: number; resetSeconds: number; afterSeconds: number };

/** A grant: requests that may be admitted until its end (monotonic clock), charged to a slot at identity. */
export type Lent = { slot: bigint; left: number; endsAtMs: number };

type Waiter = { resolve(rate: Rate): void; reject(error: unknown): void; tries: number };

/** What a gateway knows of one credential's hourly limit. */
export type Bucket = Counted & {
  lents: Lent[];
  /** Unspent parts of expired grants, to be returned to identity. */
  returns: { slot: bigint; unspent: number }[];
  /** Remainder of the limit at the last grant request, excluding what was granted then. */
  left: number;
  resetAtMs: number;
  /** `retryAtMs` on the database's clock, `untilMs` on our monotonic one. */
  refusal: { retryAtMs: number; untilMs: number } | null;
  waiters: Waiter[];
  requesting: boolean;
  /** Admitted since the last settlement. */
  used: number;
  lastUsedAtMs: number;
  touchedAtMs: number;
  /** Requests admitted since the last grant request, and its time. */
  sinceRequested: number;
  requestedAtMs: number;
  /** Requests prefetched with the last grant request, and whether identity granted any. */
  ahead: number;
  aheadOpen: boolean;
  /** A bit for each of the last eight settlements: whether it was used since the one before. */
  activity: number;
};

const aheadMax = 50_000;
/**
 * Share of the hourly limit that may be granted and unspent here, so that near its end other gateways get grants, too.
 */
const aheadLimitShare = 0.05;
/**
 * Shares of a grant's life: how long unspent requests are to last, and how long before a grant's end the next one is
 * requested.
 */
const aheadShare = 0.8;
const renewShare = 0.25;
/** A new grant is requested when less than this share of the prefetched requests is left. */
const fullShare = 0.7;
const shortestMs = 20;
/**
 * Out of eight settlements: a credential used in at least this many is likely to be used again within a grant's life.
 */
const busyTimes = 3;

export function createBucket(credential: Counted): Bucket {
  const { kind, id, limit, generation } = credential;
  return {
    kind,
    id,
    limit,
    generation,
    lents: [],
    returns: [],
    left: 0,
    resetAtMs: 0,
    refusal: null,
    waiters: [],
    requesting: false,
    used: 0,
    lastUsedAtMs: 0,
    touchedAtMs: 0,
    sinceRequested: 0,
    requestedAtMs: Number.NEGATIVE_INFINITY,
    ahead: 0,
    aheadOpen: false,
    activity: 0,
  };
}

/** Takes one request from the granted ones; false when none is left. */
export function spend(bucket: Bucket, nowMs: number, wallMs: number): boolean {
  const { lents } = bucket;
  for (;;) {
    const first = lents[0];
    if (first === undefined) return false;
    if (first.endsAtMs > nowMs && first.left > 0) {
      first.left--;
      bucket.used++;
      bucket.sinceRequested++;
      bucket.lastUsedAtMs = wallMs;
      return true;
    }
    lents.shift();
    if (first.left > 0) bucket.returns.push({ slot: first.slot, unspent: first.left });
  }
}

/** Moves what is unspent of grants that have ended by then to the returns. */
export function returnExpired(bucket: Bucket, atMs: number): void {
  const { lents } = bucket;
  while (lents[0] !== undefined && lents[0].endsAtMs <= atMs) {
    const { slot, left } = lents.shift() as Lent;
    if (left > 0) bucket.returns.push({ slot, unspent: left });
  }
}

export function unspentTokens({ lents }: Bucket): number {
  let total = 0;
  for (const { left } of lents) total += left;
  return total;
}

/** Unspent requests whose grants are not about to end `laterMs` from now. */
function inHand({ lents }: Bucket, nowMs: number, lifeMs: number, laterMs = 0): number {
  const untilMs = nowMs + laterMs + lifeMs * renewShare;
  let total = 0;
  for (const { left, endsAtMs } of lents) if (endsAtMs >= untilMs) total += left;
  return total;
}

/**
 * Whether in `laterMs` fewer unspent requests are left than a credential in steady use needs should identity become
 * unavailable.
 */
export function runsLow(bucket: Bucket, nowMs: number, lifeMs: number, laterMs = 0): boolean {
  const last = bucket.lents.at(-1);
  if (last === undefined || last.endsAtMs < nowMs + laterMs + lifeMs * renewShare) return true;
  return inHand(bucket, nowMs, lifeMs, laterMs) < bucket.ahead * fullShare;
}

/** Records whether the credential was used since the last settlement; true for one in regular use. */
export function noteActivity(bucket: Bucket): boolean {
  bucket.activity = ((bucket.activity << 1) | (bucket.used > 0 ? 1 : 0)) & 0xff;
  let times = 0;
  for (let bits = bucket.activity; bits > 0; bits >>= 1) times += bits & 1;
  return times >= busyTimes;
}

/** Requests to prefetch: the usual number within a grant's life lately, at least `least`. */
export function demandOf(bucket: Bucket, nowMs: number, lifeMs: number, least = 0): number {
  const tookMs = Math.max(shortestMs, nowMs - bucket.requestedAtMs);
  const recent = Math.ceil((bucket.sinceRequested / tookMs) * lifeMs * aheadShare);
  const most = Math.min(aheadMax, Math.ceil(bucket.limit * aheadLimitShare));
  const target = Math.min(most, Math.max(recent, Math.floor(bucket.ahead / 2)));
  bucket.ahead = Math.max(least, target < 2 ? 0 : target);
  bucket.sinceRequested = 0;
  bucket.requestedAtMs = nowMs;
  return Math.max(0, bucket.ahead - inHand(bucket, nowMs, lifeMs));
}
