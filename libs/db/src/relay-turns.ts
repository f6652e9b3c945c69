import type { OutboxRow, RelayStore } from "./relay-store.ts";

export type Turn = {
  rows: OutboxRow[];
  /** More rows wait that may be published at once. */
  more: boolean;
  /**
   * To be called when the rows are published: organizations with very many messages then rest when others have some,
   * too.
   */
  done(): void;
};

export type Turns = {
  next(most: number, pausedRoots: string[]): Promise<Turn>;
  /** Milliseconds until resting lanes may continue; Infinity when none rests. */
  restMs(): number;
};

/** Most rows of one lane per turn while more rows wait than a turn takes; with few lanes an equal share of the turn. */
const leastShare = 16;
/**
 * Time in milliseconds after other lanes had messages, in which busy lanes take turns of `yieldingRows`, each followed
 * by a rest `restFactor` times as long.
 */
const yieldMs = 250;
const yieldingRows = 50;
const restFactor = 4;
const mostRestMs = 250;

/**
 * What a relay publishes next: everything in the order of its ids while a turn holds all that waits, else lanes in
 * turns. A lane that fills its share is busy: while others have messages it gets a fifth of the time, until none of its
 * messages wait.
 */
export function createTurns(
  store: Pick<RelayStore, "unpublished" | "shares">,
  onRest: () => void,
  now: () => number = () => performance.now(),
): Turns {
  const busy = new Set<string>();
  let othersAtMs = Number.NEGATIVE_INFINITY;
  let restUntilMs = 0;
  const rests = () => now() < restUntilMs;

  const shared = async (most: number, pausedRoots: string[]): Promise<Turn> => {
    const startedMs = now();
    const resting = rests();
    const found = await store.shares(most, leastShare, pausedRoots, resting ? [...busy] : []);
    if (!resting) busy.clear();
    for (const { lane, fillsShare } of found) if (fillsShare) busy.add(lane);
    const others = found.filter(({ lane }) => !busy.has(lane));
    if (others.length > 0) othersAtMs = now();
    const yields = now() - othersAtMs < yieldMs;
    const many = found.filter(({ lane }) => busy.has(lane)).slice(0, yields ? yieldingRows : most);
    return {
      rows: [...others, ...many].sort((a, b) => a.id - b.id),
      more: found.length === most || (busy.size > 0 && !resting && !yields),
      done() {
        if (!yields || many.length === 0) return;
        restUntilMs = now() + Math.min(mostRestMs, restFactor * (now() - startedMs));
        onRest();
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
    restMs: () => (busy.size > 0 && rests() ? restUntilMs - now() : Number.POSITIVE_INFINITY),
  };
}
