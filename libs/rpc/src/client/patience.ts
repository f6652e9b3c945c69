import { backoffMs } from "@muster/kit";

export type Patience = {
  /** A server took a call. */
  answered(): void;
  /** Milliseconds after which a call that no server took is sent again; null: it has been refused for long enough. */
  nextTryMs(refusals: number, firstRefusedMs: number): number | null;
};

const firstWaitMs = 10;
const longestWaitMs = 200;
/** Refusals further apart than this are not one absence. */
const forgetMs = 10_000;

/**
 * How long a call that no server took is repeated. Twice per server at once; then, while a name's addresses catch up
 * with pods that left or came, at growing intervals for `patienceMs`. Servers that have refused everything for that
 * long are away: calls fail at once.
 */
export function createPatience(patienceMs: number, servers: number): Patience {
  const atOnce = 2 * servers;
  let awaySinceMs: number | null = null;
  let lastRefusedMs = 0;
  return {
    answered() {
      awaySinceMs = null;
    },
    nextTryMs(refusals, firstRefusedMs) {
      const nowMs = performance.now();
      if (awaySinceMs === null || nowMs - lastRefusedMs > forgetMs) awaySinceMs = firstRefusedMs;
      lastRefusedMs = nowMs;
      if (refusals <= atOnce) return 0;
      const waitMs = backoffMs(refusals - atOnce - 1, firstWaitMs, longestWaitMs);
      const endsMs = Math.min(firstRefusedMs, awaySinceMs) + patienceMs;
      if (nowMs + waitMs <= endsMs) return waitMs;
      // The next call finds no remainder of this time to wait for.
      awaySinceMs = nowMs - patienceMs;
      return null;
    },
  };
}
