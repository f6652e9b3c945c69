import { AppError, type counter, type gauge, type Logger } from "@muster/kit";
import type { Lease } from "./lease.ts";
import { lru } from "./lru.ts";

/** With a lease: an entry is used this long, then used and refreshed in the background; the cache may override both. */
export const freshMs = 10_000;
/** With a lease: never used when older. */
export const hardMs = 30_000;
/** Without a lease: the refresh interval of a credential, and so the lifetime of an answer. */
export const unleasedMs = 1_000;
/** A refusal is repeated this long without asking. */
export const negativeMs = 2_000;

/** Attempts per lookup when answers arrive too late or are invalidated by changes while in flight. */
const triesMax = 3;

/** `askedAtMs` is when the request was sent, not when the answer arrived: an entry's age is never underestimated. */
type Entry<T> = { askedAtMs: number; value: T; refusal: null } | { askedAtMs: number; value: null; refusal: AppError };

type Flight<T> = {
  asking: Promise<T>;
  /** Changes that arrived during the lookup: an answer that one of them concerns may predate it. */
  changes: ((value: T) => boolean)[];
  void: boolean;
};

export type FreshCache<T> = {
  /**
   * Identity's answer for a credential. `usable` may reject a cached value. Throws what `ask` throws, or `unavailable`.
   */
  get(key: string, ask: () => Promise<T>, usable?: (value: T) => boolean): T | Promise<T>;
  /** Marks cached and in-flight values that match as stale: each is resolved again before its next use. */
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
  /** Whether an error is identity's word on the credential, which may be repeated for a while. */
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
  /** Refreshes in the background wait this long for others; for an `ask` that sends all of one turn in one call. */
  gatherMs?: number;
};

/**
 * Credentials as identity last described them. What a lease covers is used for up to 30 s; anything else for 1 s from
 * when it was asked for (docs/decisions/0005-gateways-answer-from-memory-under-a-lease.md). At most one lookup per credential is in flight.
 */
export function createFreshCache<T extends object>(options: FreshCacheOptions<T>): FreshCache<T> {
  const { lease, max, isRefusal, merge, onDrop, log, nowMs, life = { freshMs, hardMs }, gatherMs = 0 } = options;
  const entries = lru<Entry<T>>(max);
  const flights = new Map<string, Flight<T>>();
  /** Refreshes that wait for others. */
  const due = new Map<string, () => Promise<T>>();
  const hits = options.lookups.labels("cache");
  const behind = options.lookups.labels("cache_refreshing");
  const misses = options.lookups.labels("identity");
  const refusals = options.lookups.labels("refused");

  /** How old an answer may be now. */
  const lifeMs = (askedAtMs: number) => (lease.covers(askedAtMs) ? life.hardMs : unleasedMs);

  const keep = (key: string, entry: Entry<T>) => {
    entries.set(key, entry);
    options.entries.set(entries.size);
  };

  const askOnce = async (key: string, ask: () => Promise<T>, flight: Flight<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      const waking = lease.awake();
      if (waking) await waking;
      const askedAtMs = nowMs();
      const before = entries.peek(key)?.value ?? null;
      let answer: T;
      try {
        answer = await ask();
      } catch (error) {
        if (isRefusal(error) && !flight.void) {
          keep(key, { askedAtMs, value: null, refusal: error as AppError });
          if (before) onDrop(before);
        }
        throw error;
      }
      const stale = flight.void || flight.changes.some((concerns) => concerns(answer));
      flight.void = false;
      flight.changes.length = 0;
      // A process that was suspended during the lookup would otherwise admit on an outdated answer.
      if (!stale && nowMs() - askedAtMs < lifeMs(askedAtMs)) {
        const value = before ? merge(before, answer) : answer;
        if (before && value !== before) onDrop(before);
        keep(key, { askedAtMs, value, refusal: null });
        return value;
      }
      if (tries === triesMax) throw tooOld();
    }
  };

  const fly = (key: string, ask: () => Promise<T>): Promise<T> => {
    const known = flights.get(key);
    if (known) return known.asking;
    const flight: Flight<T> = { asking: undefined as never, changes: [], void: false };
    flight.asking = askOnce(key, ask, flight).finally(() => flights.delete(key));
    flights.set(key, flight);
    return flight.asking;
  };

  const refresh = (key: string, ask: () => Promise<T>) => {
    fly(key, ask).catch((err: unknown) => {
      if (!isRefusal(err)) log.warn({ err }, "credential not refreshed");
    });
  };
  const refreshDue = () => {
    for (const [key, ask] of due) {
      const entry = entries.peek(key);
      // Others were dropped meanwhile, or resolved again.
      if (entry && nowMs() - entry.askedAtMs >= life.freshMs) refresh(key, ask);
    }
    due.clear();
  };
  const refreshSoon = (key: string, ask: () => Promise<T>) => {
    if (gatherMs === 0) return refresh(key, ask);
    if (due.size === 0) setTimeout(refreshDue, gatherMs).unref();
    due.set(key, ask);
  };

  return {
    get(key, ask, usable) {
      const entry = entries.get(key);
      if (entry === undefined) {
        misses.inc();
        return fly(key, ask);
      }
      const ageMs = nowMs() - entry.askedAtMs;
      if (entry.refusal !== null && ageMs < negativeMs) {
        refusals.inc();
        throw entry.refusal;
      }
      const { value } = entry;
      if (value === null || ageMs >= lifeMs(entry.askedAtMs) || (usable !== undefined && !usable(value))) {
        misses.inc();
        return fly(key, ask);
      }
      if (ageMs < life.freshMs) {
        hits.inc();
        return value;
      }
      behind.inc();
      refreshSoon(key, ask);
      return value;
    },
    forget(stale) {
      for (const { changes } of flights.values()) changes.push(stale);
      for (const [key, { value }] of [...entries.entries()]) {
        if (value === null || !stale(value)) continue;
        entries.delete(key);
        onDrop(value);
      }
      options.entries.set(entries.size);
    },
    drop(key) {
      const flight = flights.get(key);
      if (flight) flight.void = true;
      const value = entries.peek(key)?.value ?? null;
      entries.delete(key);
      if (value) onDrop(value);
      options.entries.set(entries.size);
      return value !== null;
    },
    dropAll() {
      for (const flight of flights.values()) flight.void = true;
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

function tooOld(): AppError {
  return new AppError("unavailable", "Service is temporarily unavailable", { retryAfterSeconds: 1 });
}
