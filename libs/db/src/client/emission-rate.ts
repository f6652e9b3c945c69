export type EmissionRate = {
  /** Records emitted messages; returns the milliseconds for which the emitter waits before emitting more. */
  emitted(count: number): number;
};

/** About the rate of a relay: a faster emitter only makes the outbox longer and takes CPU time from all others. */
const perSecond = 5_000;
const atOnce = 1_000;
const mostWaitMs = 250;

/**
 * A process may emit 1,000 messages at once and 5,000 a second from then on; a transaction beyond that waits after its
 * COMMIT.
 */
export function createEmissionRate(now: () => number = () => performance.now()): EmissionRate {
  let tokens = atOnce;
  let atMs = now();
  return {
    emitted(count) {
      const nowMs = now();
      tokens = Math.min(atOnce, tokens + ((nowMs - atMs) * perSecond) / 1_000);
      atMs = nowMs;
      // A debt beyond the longest wait is dropped: an emitter does not wait for the much earlier messages of another.
      tokens = Math.max(tokens - count, (-mostWaitMs * perSecond) / 1_000);
      return Math.max(0, (-tokens * 1_000) / perSecond);
    },
  };
}
