import { AppError } from "@muster/kit";

/** How many failures are allowed within how long. */
export type AttemptLimit = { max: number; windowMs: number };

export type LoginLimits = { perAccount: AttemptLimit; perAddress: AttemptLimit };

/** Until when nothing more may be tried; null when it may. `failedAt` in any order, in milliseconds since 1970. */
export function limitedUntilMs(failedAt: readonly number[], limit: AttemptLimit, nowMs: number): number | null {
  const counting = inWindow(failedAt, limit, nowMs);
  // The window opens again when the oldest of the last `max` leaves it.
  const deciding = counting[counting.length - limit.max];
  return deciding === undefined ? null : deciding + limit.windowMs;
}

/** How many more failures are allowed now. */
export function attemptsLeft(failedAt: readonly number[], limit: AttemptLimit, nowMs: number): number {
  return Math.max(0, limit.max - inWindow(failedAt, limit, nowMs).length);
}

/** The failures to keep once `times` more have happened now: oldest first, no more than decide anything. */
export function withFailures(failedAt: readonly number[], limit: AttemptLimit, nowMs: number, times = 1): number[] {
  return inWindow([...failedAt, ...Array<number>(times).fill(nowMs)], limit, nowMs).slice(-limit.max);
}

function inWindow(failedAt: readonly number[], { windowMs }: AttemptLimit, nowMs: number): number[] {
  return failedAt.filter((atMs) => atMs > nowMs - windowMs).sort((a, b) => a - b);
}

/** 429 with the seconds after which a repeat makes sense. */
export function tooManyFailures(until: Date, now: Date): AppError {
  return new AppError("rate_limited", "Too many failed attempts", {
    retryAfterSeconds: Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000)),
  });
}
