import { LRUCache } from "lru-cache";

/**
 * A cache of at most `max` entries, of which the one that was used longest ago goes first. It grows as it fills: with
 * `max` alone the library takes all of its room at once, 24 bytes an entry.
 */
export function lru<V extends {}>(
  max: number,
  options: { ttl?: number; nowMs?: () => number } = {},
): LRUCache<string, V> {
  const { ttl, nowMs } = options;
  const living = ttl === undefined ? {} : { ttl, ttlResolution: 0, ...(nowMs ? { perf: { now: nowMs } } : {}) };
  return new LRUCache<string, V>({ maxSize: max, sizeCalculation: () => 1, ...living });
}
