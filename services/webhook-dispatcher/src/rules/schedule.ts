import { daySeconds, delaysOf, type OwnSchedule, type RetrySchedule, totalSeconds } from "./retry-schedule.ts";

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

/** Longest delay that a `Retry-After` can cause, in milliseconds; under a schedule of a day or more, a day. */
const longestMs = 300_000;
const longestOfDaysMs = daySeconds * 1_000;

/** How a webhook is retried: an operator's policy counts before the schedule that its users chose. */
export type Retries = { policy: RetryPolicy | null; schedule: RetrySchedule };

/** Most percent that a delay grows by, and how much of that: 0 to 1. */
export type Jitter = { percent: number; share: number };

/**
 * Milliseconds from the end of an attempt to the next one, null when the schedule is exhausted. `failures` counts
 * attempts that used it up, this one included. A `Retry-After` only ever makes it later.
 */
export function retryDelayMs(
  { policy, schedule }: Retries,
  failures: number,
  retryAfterMs: number | null,
  jitter: Jitter,
): number | null {
  const own = policy === null ? delaysOf(schedule) : null;
  const scheduled = own ? ownDelayMs(own, failures) : policyDelayMs(policy, failures);
  if (scheduled === null) return null;
  const later = scheduled * (1 + (jitter.share * Math.max(jitter.percent, own?.jitterPercent ?? 0)) / 100);
  const longest = own && totalSeconds(own) >= daySeconds ? longestOfDaysMs : longestMs;
  return Math.round(Math.max(later, Math.min(retryAfterMs ?? 0, longest)));
}

function ownDelayMs({ delaysSeconds }: OwnSchedule, failures: number): number | null {
  const seconds = delaysSeconds[failures - 1];
  return seconds === undefined ? null : seconds * 1_000;
}

function policyDelayMs(policy: RetryPolicy | null, failures: number): number | null {
  const { maxRetries, initialDelayMs, backoffMultiplier, maxDelayMs } = { ...defaultPolicy, ...policy };
  return failures > maxRetries ? null : Math.min(initialDelayMs * backoffMultiplier ** (failures - 1), maxDelayMs);
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
