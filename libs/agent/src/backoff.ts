const firstMs = 1_000;
const maxMs = 60_000;
/** The longest wait that a server may ask for: the platform's limits are per hour. */
const requestedMaxMs = 3_600_000;

/** Wait before another try, milliseconds: full jitter, and never earlier than the server asks for, within an hour. */
export type Backoff = (attempt: number, retryAfterMs: number | null) => number;

export const backoffWith =
  (random: () => number): Backoff =>
  (attempt, retryAfterMs) =>
    Math.min(requestedMaxMs, retryAfterMs ?? 0) + random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 10));
