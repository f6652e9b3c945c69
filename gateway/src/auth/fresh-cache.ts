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
  const { lease, max, isRefusal, merge, onDrop, log, nowMs, life = { freshMs, hardMs }, gatherMs = 0 } = options;
  const entries = lru<Entry<T>>(max);
  const pending = new Map<string, Lookup<T>>();
  /** Refreshes that wait for others. */
  const due = new Map<string, () => Promise<T>>();
  const hits = options.lookups.labels("cache");
  const refreshing = options.lookups.labels("cache_refreshing");
  const misses = options.lookups.labels("identity");
  const refusals = options.lookups.labels("refused");

  /** How old an answer may be now. */
  const lifeMs = (requestedAtMs: number) => (lease.covers(requestedAtMs) ? life.hardMs : unleasedMs);

  const keep = (key: string, entry: Entry<T>) => {
    entries.set(key, entry);
    options.entries.set(entries.size);
  };

  const resolveOnce = async (key: string, request: () => Promise<T>, lookup: Lookup<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      const waking = lease.awake();
      if (waking) await waking;
      const requestedAtMs = nowMs();
      const before = entries.peek(key)?.value ?? null;
      let answer: T;
      try {
        answer = await request();
      } catch (error) {
        if (isRefusal(error) && !lookup.void) {
          keep(key, { requestedAtMs, value: null, refusal: error as AppError });
          if (before) onDrop(before);
        }
        throw error;
      }
      const stale = lookup.void || lookup.changes.some((concerns) => concerns(answer));
      lookup.void = false;
      lookup.changes.length = 0;
      // A process that was suspended during the lookup would otherwise admit on an outdated answer.
      if (!stale && nowMs() - requestedAtMs < lifeMs(requestedAtMs)) {
        const value = before ? merge(before, answer) : answer;
        if (before && value !== before) onDrop(before);
        keep(key, { requestedAtMs, value, refusal: null });
        return value;
      }
      if (tries === triesMax) throw unavailable();
    }
  };

  const resolve = (key: string, request: () => Promise<T>): Promise<T> => {
    const other = pending.get(key);
    if (other) return other.answer;
    const lookup: Lookup<T> = { answer: undefined as never, changes: [], void: false };
    lookup.answer = resolveOnce(key, request, lookup).finally(() => pending.delete(key));
    pending.set(key, lookup);
    return lookup.answer;
  };

  const refresh = (key: string, request: () => Promise<T>) => {
    resolve(key, request).catch((err: unknown) => {
      if (!isRefusal(err)) log.warn({ err }, "credential not refreshed");
    });
  };
  const refreshDue = () => {
    for (const [key, request] of due) {
      const entry = entries.peek(key);
      // Others were dropped meanwhile, or resolved again.
      if (entry && nowMs() - entry.requestedAtMs >= life.freshMs) refresh(key, request);
    }
    due.clear();
  };
  const refreshSoon = (key: string, request: () => Promise<T>) => {
    if (gatherMs === 0) return refresh(key, request);
    if (due.size === 0) setTimeout(refreshDue, gatherMs).unref();
    due.set(key, request);
  };

  return {
    get(key, request, usable) {
      const entry = entries.get(key);
      if (entry === undefined) {
        misses.inc();
        return resolve(key, request);
      }
      const ageMs = nowMs() - entry.requestedAtMs;
      if (entry.refusal !== null && ageMs < negativeMs) {
        refusals.inc();
        throw entry.refusal;
      }
      const { value } = entry;
      if (value === null || ageMs >= lifeMs(entry.requestedAtMs) || (usable !== undefined && !usable(value))) {
        misses.inc();
        return resolve(key, request);
      }
      if (ageMs < life.freshMs) {
        hits.inc();
        return value;
      }
      refreshing.inc();
      refreshSoon(key, request);
      return value;
    },
    forget(stale) {
      for (const { changes } of pending.values()) changes.push(stale);
      for (const [key, { value }] of [...entries.entries()]) {
        if (value === null || !stale(value)) continue;
        entries.delete(key);
        onDrop(value);
      }
      options.entries.set(entries.size);
    },
    drop(key) {
      const lookup = pending.get(key);
      if (lookup) lookup.void = true;
      const value = entries.peek(key)?.value ?? null;
      entries.delete(key);
      if (value) onDrop(value);
      options.entries.set(entries.size);
      return value !== null;
    },
    dropAll() {
      for (const lookup of pending.values()) lookup.void = true;
      const dropped = [...entries.values()];
      entries.clear();
      options.entries.set(0);
      for (const { value } of dropped) if (value) onDrop(value);
    },
    get size() {
      return entries.size;
    },
  };
}
