/** A webhook's own schedule; absent members take the defaults (docs/behaviour.md#webhook-deliveries). */
export type RetryPolicy = {
  maxRetries?: number;
  initialDelayMs?: number;
  backoffMultiplier?: number;
  maxDelayMs?: number;
};

export const defaultPolicy: Required<RetryPolicy> = {
  maxRetries: 5,
  initialDelayMs: 1_000,
  backoffMultiplier: 2,
  maxDelayMs: 300_000,
};

/** Longest delay that a `Retry-After` can cause, in milliseconds. */
const longestMs = 300_000;

/**
 * Milliseconds from the end of an attempt to the next one, null when the schedule is exhausted. `failures` counts
 * attempts that used it up, this one included. A `Retry-After` only ever makes it later.
 */
export function retryDelayMs(
  policy: RetryPolicy | null,
  failures: number,
  retryAfterMs: number | null,
  jitter: number,
): number | null {
  const { maxRetries, initialDelayMs, backoffMultiplier, maxDelayMs } = { ...defaultPolicy, ...policy };
  if (failures > maxRetries) return null;
  const scheduled = Math.min(initialDelayMs * backoffMultiplier ** (failures - 1), maxDelayMs);
  const wanted = Math.max(scheduled * (1 + jitter), retryAfterMs ?? 0);
  return Math.round(Math.min(wanted, Math.max(longestMs, scheduled)));
}

/**
 * Milliseconds of a `Retry-After` (RFC 9110, 10.2.3: seconds or a date) of a 429 or 503; null when there is none to
 * heed.
 */
export function retryAfterMs(status: number, header: string | string[] | undefined, now: Date): number | null {
  if (status !== 429 && status !== 503) return null;
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!text) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // V8 takes nearly anything for a date; one of HTTP names its weekday.
  const at = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}
