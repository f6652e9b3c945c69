import type { AppError, counter, gauge, Logger } from "@muster/kit";
import { unavailable } from "../errors.ts";
import type { Lease } from "./lease.ts";
import { lru } from "./lru.ts";

/** With a lease: an entry is used this long, then used and refreshed in the background; the cache may override both. */
export const freshMs = 10_000;
/** With a lease: never used when older. */
export const hardMs = 30_000;
/** Without a lease: the refresh interval of a credential, and so the lifetime of an answer. */
export const unleasedMs = 1_000;
/** A refusal is repeated this long without a look-up. */
export const negativeMs = 2_000;

/** Attempts per lookup when answers arrive too late or are invalidated by changes while in flight. */
const triesMax = 3;

/**
 * `requestedAtMs` is when the request was sent, not when the answer arrived: an entry's age is never underestimated.
 */
type Entry<T> =
  | { requestedAtMs: number; value: T; refusal: null }
  | { requestedAtMs: number; value: null; refusal: AppError };

type Lookup<T> = {
  answer: Promise<T>;
  /** Changes that arrived during the lookup: an answer that one of them concerns may predate it. */
  changes: ((value: T) => boolean)[];
  void: boolean;
};

export type FreshCache<T> = {
  /**
   * Identity's answer for a credential. `usable` may reject a cached value. Throws what `request` throws, or
   * `unavailable`.
   */
  get(key: string, request: () => Promise<T>, usable?: (value: T) => boolean): T | Promise<T>;
  /** Marks values that match, cached or in flight, as stale: each is resolved again before its next use. */
  forget(stale: (value: T) => boolean): void;
  /** Marks the value of one key as stale, cached refusals included. Returns false when no value was cached. */
  drop(key: string): boolean;
  /** Marks all values as stale. */
  dropAll(): void;
  readonly size: number;
};

export type FreshCacheOptions<T> = {
  lease: Pick<Lease, "covers" | "awake">;
  max: number;
  /** Whether an error is identity's refusal of the credential, which may be repeated for a while. */
  isRefusal(error: unknown): boolean;
  /** The value to keep when an answer changed nothing: the one from before. */
  merge(before: T, after: T): T;
  /** Called with each value that is no longer used, once a look-up no longer finds it. */
  onDrop(value: T): void;
  log: Logger;
  lookups: ReturnType<typeof counter<"result">>;
  entries: ReturnType<typeof gauge>;
  /** Milliseconds of a monotonic clock. */
  nowMs: () => number;
  /** Replaces `freshMs` and `hardMs` for this cache. */
  life?: { freshMs: number; hardMs: number };
  /** Refreshes in the background wait this long for others; for a `request` that sends all of one tick in one call. */
  gatherMs?: number;
};

/**
 * Credentials as identity last described them. What a lease covers is used for up to 30 s; anything else for 1 s from
 * when it was requested (docs/decisions/0005-gateways-answer-from-memory-under-a-lease.md). At most one lookup per
 * credential is in flight.
 */
export function createFreshCache<T extends object>(options: FreshCacheOptions<T>): FreshCache<T> {
  return new Fresh<T>(options);
}

class Fresh<T extends object> implements FreshCache<T> {
  readonly #options: FreshCacheOptions<T>;
  readonly #lease: FreshCacheOptions<T>["lease"];
  readonly #isRefusal: FreshCacheOptions<T>["isRefusal"];
  readonly #merge: FreshCacheOptions<T>["merge"];
  readonly #onDrop: FreshCacheOptions<T>["onDrop"];
  readonly #log: FreshCacheOptions<T>["log"];
  readonly #nowMs: FreshCacheOptions<T>["nowMs"];
  readonly #life: NonNullable<FreshCacheOptions<T>["life"]>;
  readonly #gatherMs: NonNullable<FreshCacheOptions<T>["gatherMs"]>;
  readonly #entries;
  readonly #pending = new Map<string, Lookup<T>>();
  /** Refreshes that wait for others. */
  readonly #due = new Map<string, () => Promise<T>>();
  readonly #hits;
  readonly #refreshing;
  readonly #misses;
  readonly #refusals;

  constructor(options: FreshCacheOptions<T>) {
    this.#options = options;
    const { lease, max, isRefusal, merge, onDrop, log, nowMs, life = { freshMs, hardMs }, gatherMs = 0 } = options;
    this.#lease = lease;
    this.#isRefusal = isRefusal;
    this.#merge = merge;
    this.#onDrop = onDrop;
    this.#log = log;
    this.#nowMs = nowMs;
    this.#life = life;
    this.#gatherMs = gatherMs;
    this.#entries = lru<Entry<T>>(max);
    this.#hits = options.lookups.labels("cache");
    this.#refreshing = options.lookups.labels("cache_refreshing");
    this.#misses = options.lookups.labels("identity");
    this.#refusals = options.lookups.labels("refused");
  }

  /** How old an answer may be now. */
  #lifeMs(requestedAtMs: number) {
    return this.#lease.covers(requestedAtMs) ? this.#life.hardMs : unleasedMs;
  }

  #keep(key: string, entry: Entry<T>) {
    this.#entries.set(key, entry);
    this.#options.entries.set(this.#entries.size);
  }

  async #resolveOnce(key: string, request: () => Promise<T>, lookup: Lookup<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const waking = this.#lease.awake();
      if (waking) await waking;
      const requestedAtMs = this.#nowMs();
      const before = this.#entries.peek(key)?.value ?? null;
      let answer: T;
      try {
        answer = await request();
      } catch (error) {
        if (this.#isRefusal(error) && !lookup.void) {
          this.#keep(key, { requestedAtMs, value: null, refusal: error as AppError });
          if (before) this.#onDrop(before);
        }
        throw error;
      }
      const stale = lookup.void || lookup.changes.some((concerns) => concerns(answer));
      lookup.void = false;
      lookup.changes.length = 0;
      // A process that was suspended during the lookup would otherwise admit on an outdated answer.
      if (!stale && this.#nowMs() - requestedAtMs < this.#lifeMs(requestedAtMs)) {
        const value = before ? this.#merge(before, answer) : answer;
        if (before && value !== before) this.#onDrop(before);
        this.#keep(key, { requestedAtMs, value, refusal: null });
        return value;
      }
      if (tries === triesMax) throw unavailable();
    }
  }

  #resolve(key: string, request: () => Promise<T>): Promise<T> {
    const other = this.#pending.get(key);
    if (other) return other.answer;
    const lookup: Lookup<T> = { answer: undefined as never, changes: [], void: false };
    lookup.answer = this.#resolveOnce(key, request, lookup).finally(() => this.#pending.delete(key));
    this.#pending.set(key, lookup);
    return lookup.answer;
  }

  #refresh(key: string, request: () => Promise<T>) {
    this.#resolve(key, request).catch((err: unknown) => {
      if (!this.#isRefusal(err)) this.#log.warn({ err }, "credential not refreshed");
    });
  }

  readonly #refreshDue = () => {
    for (const [key, request] of this.#due) {
      const entry = this.#entries.peek(key);
      // Others were dropped meanwhile, or resolved again.
      if (entry && this.#nowMs() - entry.requestedAtMs >= this.#life.freshMs) this.#refresh(key, request);
    }
    this.#due.clear();
  };

  #refreshSoon(key: string, request: () => Promise<T>) {
    if (this.#gatherMs === 0) return this.#refresh(key, request);
    if (this.#due.size === 0) setTimeout(this.#refreshDue, this.#gatherMs).unref();
    this.#due.set(key, request);
  }

  readonly get = (key: string, request: () => Promise<T>, usable?: (value: T) => boolean): T | Promise<T> => {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#misses.inc();
      return this.#resolve(key, request);
    }
    const ageMs = this.#nowMs() - entry.requestedAtMs;
    if (entry.refusal !== null && ageMs < negativeMs) {
      this.#refusals.inc();
      throw entry.refusal;
    }
    const { value } = entry;
    if (value === null || ageMs >= this.#lifeMs(entry.requestedAtMs) || (usable !== undefined && !usable(value))) {
      this.#misses.inc();
      return this.#resolve(key, request);
    }
    if (ageMs < this.#life.freshMs) {
      this.#hits.inc();
      return value;
    }
    this.#refreshing.inc();
    this.#refreshSoon(key, request);
    return value;
  };

  readonly forget = (stale: (value: T) => boolean): void => {
    for (const { changes } of this.#pending.values()) changes.push(stale);
    for (const [key, { value }] of [...this.#entries.entries()]) {
      if (value === null || !stale(value)) continue;
      this.#entries.delete(key);
      this.#onDrop(value);
    }
    this.#options.entries.set(this.#entries.size);
  };

  readonly drop = (key: string): boolean => {
    const lookup = this.#pending.get(key);
    if (lookup) lookup.void = true;
    const value = this.#entries.peek(key)?.value ?? null;
    this.#entries.delete(key);
    if (value) this.#onDrop(value);
    this.#options.entries.set(this.#entries.size);
    return value !== null;
  };

  readonly dropAll = (): void => {
    for (const lookup of this.#pending.values()) lookup.void = true;
    const dropped = [...this.#entries.values()];
    this.#entries.clear();
    this.#options.entries.set(0);
    for (const { value } of dropped) if (value) this.#onDrop(value);
  };

  get size(): number {
    return this.#entries.size;
  }
}
