import { LRUCache } from "lru-cache";
import type { Rate } from "./rate-bucket.ts";
import type { RateLimiter } from "./rate-limit.ts";

export type AgentRates = {
  /** Counts one request of an agent; throws as RateLimiter.count. */
  count(deviceId: string): Rate | Promise<Rate>;
};

type Window = { endsAtMs: number; used: number };

const hourMs = 3_600_000;
/** Share of an agent's hourly limit that each gateway admits by itself. */
const ownShare = 0.01;

/**
 * Hourly limits of agents. An agent makes a few hundred requests an hour where the limit is 100,000, and there are many of them: the first
 * hundredth of the limit is counted in this gateway alone, and only what goes beyond it is leased at identity. With one gateway the limit is
 * exact but for that hundredth at the turn of the hour; each further gateway adds a hundredth at most.
 */
export function createAgentRates(options: {
  rates: Pick<RateLimiter, "count">;
  limit: number;
  /** Agents remembered; one that is forgotten begins its hundredth again. */
  max: number;
  now?: () => number;
}): AgentRates {
  const { rates, limit, max, now = Date.now } = options;
  const own = Math.floor(limit * ownShare);
  const windows = new LRUCache<string, Window>({ max });

  return {
    count(deviceId) {
      const atMs = now();
      let window = windows.get(deviceId);
      if (window === undefined || window.endsAtMs <= atMs) {
        window = { endsAtMs: atMs + hourMs, used: 0 };
        windows.set(deviceId, window);
      }
      if (window.used < own) {
        window.used += 1;
        const resetSeconds = Math.ceil(window.endsAtMs / 1000);
        const afterSeconds = Math.max(1, resetSeconds - Math.floor(atMs / 1000));
        return { admitted: true, limit, remaining: limit - window.used, resetSeconds, afterSeconds };
      }
      const leased = rates.count({ kind: "agent", id: deviceId, limit: limit - own, generation: 0 });
      return leased instanceof Promise ? leased.then((rate) => ({ ...rate, limit })) : { ...leased, limit };
    },
  };
}
