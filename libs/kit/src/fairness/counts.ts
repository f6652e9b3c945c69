/** Counts by key; a key whose count is 0 takes no memory. */
export type Counts = {
  of(key: string): number;
  add(key: string, change: number): void;
  /** Keys with a count above 0. */
  keys(): Iterable<string>;
  /** Sum over all keys. */
  readonly total: number;
};

export function createCounts(): Counts {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    of: (key) => counts.get(key) ?? 0,
    add(key, change) {
      const count = (counts.get(key) ?? 0) + change;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
      total += change;
    },
    keys: () => counts.keys(),
    get total() {
      return total;
    },
  };
}

/** Most that one holder may have when the others leave this many free: half of them, rounded up. */
export const shareOf = (free: number): number => Math.ceil(Math.max(0, free) / 2);

/** Most of `slots` that the holder `key` may have, with what it has: its share of what the other keys leave. */
export const shareIn = (held: Counts, key: string, slots: number): number =>
  shareOf(slots - (held.total - held.of(key)));
