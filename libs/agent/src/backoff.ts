const firstMs = 1_000;
const maxMs = 60_000;

/** Wait before another try, milliseconds: full jitter, and never earlier than the server asks for. */
export type Backoff = (attempt: number, retryAfterMs: number | null) => number;

export const backoffWith =
  (random: () => number): Backoff =>
  (attempt, retryAfterMs) =>
    (retryAfterMs ?? 0) + random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 10));
