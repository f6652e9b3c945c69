import { lru } from "./lru.ts";
import type { Rate } from "./rate-bucket.ts";
import type { RateLimiter } from "./rate-limit.ts";

export type AgentRates = {
  /** Counts one request of an agent; throws as RateLimiter.count. */
  count(deviceId: string): Rate | Promise<Rate>;
};

type Window = { endsAtMs: number; used: number; left: number; atMs: number };

const hourMs = 3_600_000;
/** Share of an agent's hourly limit that each gateway admits without a grant. */
const ownShare = 0.01;

/**
 * Hourly limits of agents. An agent makes a few hundred requests an hour where the limit is 100,000, and there are many
 * of them: the first hundredth of the limit is counted in this gateway alone, and only what goes beyond it is leased at
 * identity. With one gateway the limit is exact but for that hundredth at the end of the hour; each further gateway
 * adds a hundredth at most. Within the hour an agent has a burst of a minute's requests, which time refills
 * (token bucket), so that other agents of its organization keep their share.
 */
export function createAgentRates(options: {
  rates: Pick<RateLimiter, "count">;
  limit: number;
  perMinute: number;
  /** Agents counted at most; an evicted agent starts again with an unused hundredth. */
  max: number;
  now?: () => number;
}): AgentRates {
  const { rates, limit, perMinute, max, now = Date.now } = options;
  const own = Math.floor(limit * ownShare);
  const windows = lru<Window>(max);

  return {
    count(deviceId) {
      const atMs = now();
      let window = windows.get(deviceId);
      if (window === undefined || window.endsAtMs <= atMs) {
        window = { endsAtMs: atMs + hourMs, used: 0, left: window?.left ?? perMinute, atMs: window?.atMs ?? atMs };
        windows.set(deviceId, window);
      }
      window.left = Math.min(perMinute, window.left + (Math.max(0, atMs - window.atMs) * perMinute) / 60_000);
      window.atMs = atMs;
      if (window.left < 1) {
        const afterSeconds = Math.max(1, Math.ceil(((1 - window.left) * 60) / perMinute));
        const remaining = Math.max(0, limit - window.used);
        return { admitted: false, limit, remaining, resetSeconds: Math.ceil(atMs / 1000) + afterSeconds, afterSeconds };
      }
      window.left -= 1;
      if (window.used < own) {
        window.used += 1;
        const atSeconds = Math.floor(atMs / 1000);
        const resetSeconds = Math.min(Math.ceil(window.endsAtMs / 1000), atSeconds + hourMs / 1000);
        const afterSeconds = Math.max(1, resetSeconds - atSeconds);
        return { admitted: true, limit, remaining: limit - window.used, resetSeconds, afterSeconds };
      }
      const leased = rates.count({ kind: "agent", id: deviceId, limit: limit - own, generation: 0 });
      return leased instanceof Promise ? leased.then((rate) => ({ ...rate, limit })) : { ...leased, limit };
    },
  };
}
