import { LRUCache } from "lru-cache";

/**
 * A cache of at most `max` entries that evicts the least recently used one. Memory grows with the entries: with `max`
 * alone the library allocates 24 bytes per possible entry in advance.
 */
export function lru<V extends {}>(
  max: number,
  options: { ttl?: number; nowMs?: () => number } = {},
): LRUCache<string, V> {
  const { ttl, nowMs } = options;
  const expiry = ttl === undefined ? {} : { ttl, ttlResolution: 0, ...(nowMs ? { perf: { now: nowMs } } : {}) };
  return new LRUCache<string, V>({ maxSize: max, sizeCalculation: () => 1, ...expiry });
}
