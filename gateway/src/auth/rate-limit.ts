import { counter, gauge, type Logger, repeatEvery } from "@muster/kit";
import { unavailable } from "../errors.ts";
import {
  type Bucket,
  type Counted,
  createBucket,
  demandOf,
  type Lent,
  noteActivity,
  type Rate,
  returnExpired,
  runsLow,
  spend,
  unspentTokens,
} from "./rate-bucket.ts";

export type Want = { kind: string; id: string; limit: number; waiting: number; ahead: number };
export type Granted = {
  granted: number;
  remaining: number;
  slot: bigint;
  resetAtMs: number;
  retryAtMs: number | null;
  cacheable: boolean;
};
export type Use = {
  kind: string;
  id: string;
  slot: bigint;
  unspent: number;
  used: number;
  lastUsedAtMs: number;
  generation: number;
};

export type RateLimiter = {
  /**
   * Counts one request; synchronous while a grant lasts. Throws AppError `unavailable` when identity does not answer.
   */
  count(credential: Counted): Rate | Promise<Rate>;
  /** Marks the state of this credential's limit as stale: no refusal is repeated. */
  changed(id: string): void;
  /** Returns all unspent grants. */
  stop(): Promise<void>;
  readonly size: number;
};

export type RateLimiterOptions = {
  /** Returns the grants in the order of the wants. `nowMs`: the database's clock, milliseconds since 1970. */
  reserve(wants: readonly Want[]): Promise<{ grants: readonly Granted[]; leaseMs: number; nowMs: number }>;
  /** Takes effect exactly once per sequence, however often it is called. */
  settle(sequence: number, uses: readonly Use[]): Promise<void>;
  log: Logger;
  nowMs?: () => number;
  now?: () => number;
};

/** A gateway that is killed loses the counts since its last settlement. */
export const settleEveryMs = 500;
/** Cache time of a refusal, at most: requests returned by another gateway become available again. */
export const refusalMs = 5_000;
const hourSeconds = 3_600;
const reservationsMax = 4;
const batchMax = 500;
const usesMax = 2_000;
const triesMax = 3;
/**
 * Share of a grant's life: busy credentials whose grants would run low within it are renewed with the first one that
 * needs a call.
 */
const companionShare = 0.5;
/** Minimum wait of a prefetched grant request: grants that run low within it are requested in the same call. */
const gatherMs = 100;
const idleMs = 10_000;

const counted = counter("muster_gateway_rate_limit_requests_total", "Authenticated requests by verdict.", ["verdict"]);
const admitted = counted.labels("admitted");
const refused = counted.labels("refused");
const reservations = counter(
  "muster_gateway_rate_limit_reservations_total",
  "Calls that reserved requests, by outcome.",
  ["outcome"],
  { outcome: ["ok", "failed"] },
);
const bucketsGauge = gauge("muster_gateway_rate_limit_credentials", "Credentials whose requests this gateway counts.");

/**
 * Exact hourly limits by short grants from identity
 * (docs/decisions/0067-hourly-limits-are-counted-in-slots-of-two-seconds.md).
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new Limiter(options);
}

class Limiter implements RateLimiter {
  readonly #reserve: RateLimiterOptions["reserve"];
  readonly #settle: RateLimiterOptions["settle"];
  readonly #nowMs: NonNullable<RateLimiterOptions["nowMs"]>;
  readonly #now: NonNullable<RateLimiterOptions["now"]>;
  readonly #buckets = new Map<string, Bucket>();
  readonly #wanting = new Set<Bucket>();
  #busy: Bucket[] = [];
  #inFlight = 0;
  #scheduled = false;
  #gathering: NodeJS.Timeout | undefined;
  /** Offset that is added to the local wall clock to get the database's. */
  #skewMs = 0;
  /** Life of a grant, as identity last returned one. */
  #lifeMs = 1_000;
  #sequence = 0;
  #unsettled: { sequence: number; uses: Use[] } | null = null;
  /** What is to be settled, oldest first; also uses of a generation of a key that is over. */
  readonly #backlog: Use[] = [];
  readonly #settling: ReturnType<typeof repeatEvery>;

  constructor(options: RateLimiterOptions) {
    const { reserve, settle, log, nowMs = () => performance.now(), now = Date.now } = options;
    this.#reserve = reserve;
    this.#settle = settle;
    this.#nowMs = nowMs;
    this.#now = now;
    this.#settling = repeatEvery(settleEveryMs, this.#settleAll, (err) =>
      log.warn({ err }, "use of credentials not settled, trying again"),
    );
  }

  #nowSeconds() {
    return Math.floor((this.#now() + this.#skewMs) / 1000);
  }

  #rateOf(bucket: Bucket, isAdmitted: boolean, resetAtMs: number): Rate {
    if (!isAdmitted) refused.inc();
    const atSeconds = this.#nowSeconds();
    // Never more than an hour away, though both are whole seconds.
    const resetSeconds = Math.min(Math.ceil(resetAtMs / 1000), atSeconds + hourSeconds);
    return {
      admitted: isAdmitted,
      limit: bucket.limit,
      remaining: isAdmitted ? bucket.left + unspentTokens(bucket) : 0,
      resetSeconds,
      afterSeconds: Math.max(1, resetSeconds - atSeconds),
    };
  }

  readonly #reserveAll = () => {
    this.#scheduled = false;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    while (this.#wanting.size > 0 && this.#inFlight < reservationsMax) void this.#reserveBatch();
  };

  #want(bucket: Bucket) {
    if (bucket.requesting) return;
    this.#wanting.add(bucket);
    if (this.#scheduled) return;
    if (bucket.waiters.length === 0) {
      this.#gathering ??= setTimeout(this.#reserveAll, gatherMs).unref();
      return;
    }
    this.#scheduled = true;
    // All requests that arrived in this tick of the event loop go in one call.
    setImmediate(this.#reserveAll);
  }

  async #reserveBatch(): Promise<void> {
    const batch = [...this.#wanting].slice(0, batchMax);
    // Counted from before the request, so that a grant ends here before its minute does there.
    const requestedAtMs = this.#nowMs();
    const wants: Want[] = [];
    const wantFor = (bucket: Bucket, ahead: number) => {
      const { kind, id, limit, waiters } = bucket;
      this.#wanting.delete(bucket);
      bucket.requesting = true;
      wants.push({ kind, id, limit, waiting: waiters.length, ahead });
    };
    for (const bucket of batch) wantFor(bucket, demandOf(bucket, requestedAtMs, this.#lifeMs));
    // One transaction for many keys, each of which would soon need a call.
    for (const bucket of this.#busy) {
      if (batch.length >= batchMax) break;
      if (
        bucket.requesting ||
        !bucket.aheadOpen ||
        !runsLow(bucket, requestedAtMs, this.#lifeMs, this.#lifeMs * companionShare)
      )
        continue;
      const ahead = demandOf(bucket, requestedAtMs, this.#lifeMs, 1);
      if (ahead === 0) continue;
      batch.push(bucket);
      wantFor(bucket, ahead);
    }
    this.#inFlight++;
    try {
      const reply = await this.#reserve(wants);
      reservations.labels("ok").inc();
      this.#skewMs = reply.nowMs - this.#now();
      this.#lifeMs = reply.leaseMs;
      batch.forEach((bucket, i) => {
        this.#take(bucket, wants[i] as Want, reply.grants[i] as Granted, requestedAtMs + reply.leaseMs);
      });
    } catch (error) {
      reservations.labels("failed").inc();
      for (const bucket of batch) {
        bucket.aheadOpen = false;
        for (const waiter of bucket.waiters.splice(0)) waiter.reject(error);
      }
    } finally {
      this.#inFlight--;
      for (const bucket of batch) {
        bucket.requesting = false;
        if (bucket.waiters.length > 0) this.#want(bucket);
      }
      if (this.#wanting.size > 0 && !this.#scheduled) this.#want([...this.#wanting][0] as Bucket);
    }
  }

  #take(bucket: Bucket, wanted: Want, grant: Granted, endsAtMs: number): void {
    const lent: Lent = { slot: grant.slot, left: grant.granted, endsAtMs };
    bucket.left = grant.remaining;
    bucket.resetAtMs = grant.resetAtMs;
    bucket.aheadOpen = wanted.ahead === 0 ? grant.retryAtMs === null : grant.granted > wanted.waiting;
    bucket.lents.push(lent);
    const late = this.#nowMs() >= endsAtMs;
    if (late) returnExpired(bucket, this.#nowMs());
    const refusal = grant.retryAtMs === null ? null : { retryAtMs: grant.retryAtMs, untilMs: 0 };
    if (refusal && grant.cacheable) {
      refusal.untilMs =
        this.#nowMs() + Math.min(refusalMs, Math.max(0, refusal.retryAtMs - (this.#now() + this.#skewMs)));
      bucket.refusal = refusal;
    }
    const again: typeof bucket.waiters = [];
    bucket.waiters.splice(0).forEach((waiter, i) => {
      if (spend(bucket, this.#nowMs(), this.#now())) waiter.resolve(this.#rateOf(bucket, true, bucket.resetAtMs));
      else if (refusal && i < wanted.waiting) waiter.resolve(this.#rateOf(bucket, false, refusal.retryAtMs));
      // The grant of each try had ended before it arrived.
      else if (++waiter.tries >= triesMax) waiter.reject(unavailable());
      else again.push(waiter);
    });
    bucket.waiters.push(...again);
  }

  #collect(): void {
    const uses = this.#backlog;
    const atMs = this.#nowMs();
    this.#busy = [];
    for (const [key, bucket] of this.#buckets) {
      returnExpired(bucket, atMs);
      const { kind, id, generation, used, lastUsedAtMs } = bucket;
      for (const { slot, unspent } of bucket.returns.splice(0)) {
        uses.push({ kind, id, slot, unspent, used: 0, lastUsedAtMs: 0, generation });
      }
      if (used > 0 && kind === "key") {
        uses.push({ kind, id, slot: 0n, unspent: 0, used, lastUsedAtMs, generation });
      }
      if (used > 0) admitted.inc(used);
      if (noteActivity(bucket) && this.#busy.length < batchMax) this.#busy.push(bucket);
      bucket.used = 0;
      const idle = !bucket.requesting && bucket.waiters.length === 0 && bucket.lents.length === 0;
      if (idle && atMs - bucket.touchedAtMs > idleMs) this.#buckets.delete(key);
    }
    bucketsGauge.set(this.#buckets.size);
  }

  readonly #settleAll = async (): Promise<void> => {
    this.#collect();
    // Unacknowledged settlements are sent again first, unchanged: identity applies each once.
    while (this.#unsettled !== null || this.#backlog.length > 0) {
      this.#unsettled ??= { sequence: ++this.#sequence, uses: this.#backlog.splice(0, usesMax) };
      await this.#settle(this.#unsettled.sequence, this.#unsettled.uses);
      this.#unsettled = null;
    }
  };

  #bucketOf(credential: Counted): Bucket {
    let bucket = this.#buckets.get(credential.id);
    if (bucket === undefined) {
      bucket = createBucket(credential);
      this.#buckets.set(credential.id, bucket);
    }
    if (bucket.limit !== credential.limit) {
      // Grants under a higher limit may exceed a lower one.
      if (credential.limit < bucket.limit) returnExpired(bucket, Number.POSITIVE_INFINITY);
      bucket.limit = credential.limit;
      bucket.refusal = null;
    }
    if (bucket.generation !== credential.generation) {
      const { kind, id, generation, used, lastUsedAtMs } = bucket;
      admitted.inc(used);
      if (used > 0) this.#backlog.push({ kind, id, slot: 0n, unspent: 0, used, lastUsedAtMs, generation });
      bucket.used = 0;
      bucket.generation = credential.generation;
    }
    return bucket;
  }

  readonly count = (credential: Counted): Rate | Promise<Rate> => {
    const bucket = this.#bucketOf(credential);
    const atMs = this.#nowMs();
    bucket.touchedAtMs = atMs;
    if (bucket.waiters.length === 0) {
      if (spend(bucket, atMs, this.#now())) {
        if (bucket.ahead > 0 && bucket.aheadOpen && runsLow(bucket, atMs, this.#lifeMs)) this.#want(bucket);
        return this.#rateOf(bucket, true, bucket.resetAtMs);
      }
      if (bucket.refusal && bucket.refusal.untilMs > atMs) return this.#rateOf(bucket, false, bucket.refusal.retryAtMs);
    }
    return new Promise((resolve, reject) => {
      bucket.waiters.push({ resolve, reject, tries: 0 });
      this.#want(bucket);
    });
  };

  readonly changed = (id: string): void => {
    const bucket = this.#buckets.get(id);
    if (bucket) bucket.refusal = null;
  };

  readonly stop = async (): Promise<void> => {
    clearTimeout(this.#gathering);
    await this.#settling.stop();
    for (const bucket of this.#buckets.values()) returnExpired(bucket, Number.POSITIVE_INFINITY);
    await this.#settleAll();
  };

  get size(): number {
    return this.#buckets.size;
  }
}
