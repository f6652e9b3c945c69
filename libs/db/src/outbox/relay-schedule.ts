import type { OutboxRow, RelayStore } from "./relay-store.ts";

export type ScheduledBatch = {
  rows: OutboxRow[];
  /** More rows wait that may be published at once. */
  more: boolean;
  /**
   * To be called when the rows are published: partitions with very many messages are throttled then, when others have
   * some, too.
   */
  done(): void;
};

export type Schedule = {
  next(most: number, pausedRoots: string[]): Promise<ScheduledBatch>;
  /** Milliseconds until throttled partitions may continue; Infinity when none is. */
  throttledMs(): number;
};

/**
 * Most rows of one partition per batch while more wait than a batch holds; with few partitions an equal share of it.
 */
const leastShare = 16;
/**
 * Time in milliseconds after other partitions had messages, in which busy ones get batches of `yieldingBatchRows`, each
 * followed by a pause `pauseFactor` times as long.
 */
const yieldMs = 250;
const yieldingBatchRows = 50;
const pauseFactor = 4;
const longestPauseMs = 250;

/**
 * What a relay publishes next: everything in the order of its ids while one batch holds all that waits, else partitions
 * round-robin (column `lane`). One that fills its share is busy: while others have messages it gets a fifth of the
 * time, until none of its messages wait.
 */
export function createSchedule(
  store: Pick<RelayStore, "unpublished" | "shares">,
  onThrottled: () => void,
  now: () => number = () => performance.now(),
): Schedule {
  const busy = new Set<string>();
  let othersAtMs = Number.NEGATIVE_INFINITY;
  let pausedUntilMs = 0;
  const isPaused = () => now() < pausedUntilMs;

  const shared = async (most: number, pausedRoots: string[]): Promise<ScheduledBatch> => {
    const startedMs = now();
    const wasPaused = isPaused();
    const found = await store.shares(most, leastShare, pausedRoots, wasPaused ? [...busy] : []);
    if (!wasPaused) busy.clear();
    for (const { lane, fillsShare } of found) if (fillsShare) busy.add(lane);
    const others = found.filter(({ lane }) => !busy.has(lane));
    if (others.length > 0) othersAtMs = now();
    const yields = now() - othersAtMs < yieldMs;
    const many = found.filter(({ lane }) => busy.has(lane)).slice(0, yields ? yieldingBatchRows : most);
    return {
      rows: [...others, ...many].sort((a, b) => a.id - b.id),
      more: found.length === most || (busy.size > 0 && !wasPaused && !yields),
      done() {
        if (!yields || many.length === 0) return;
        pausedUntilMs = now() + Math.min(longestPauseMs, pauseFactor * (now() - startedMs));
        onThrottled();
      },
    };
  };

  return {
    async next(most, pausedRoots) {
      if (busy.size === 0) {
        const rows = await store.unpublished(most, pausedRoots);
        if (rows.length < most) return { rows, more: false, done: () => undefined };
      }
      return shared(most, pausedRoots);
    },
    throttledMs: () => (busy.size > 0 && isPaused() ? pausedUntilMs - now() : Number.POSITIVE_INFINITY),
  };
}
