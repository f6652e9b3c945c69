import { AppError } from "@muster/kit";

/** Life of a device authorization. */
export const authorizationMs = 10 * 60_000;
/** Minimum seconds between two requests of its client, at first. */
export const firstIntervalSeconds = 5;
/** What the interval grows by when the client was faster (RFC 8628, section 3.5). */
const slowerBySeconds = 5;
/** A request may arrive so much earlier than it was sent after the one before. */
const jitterMs = 500;

export type Waiting = {
  status: "pending" | "approved" | "denied";
  intervalSeconds: number;
  polledAt: Date | null;
  expiresAt: Date;
};

export type PollVerdict = "complete" | "authorization_pending" | "slow_down" | "expired_token" | "access_denied";

/** What a client is told, and the interval that it has to keep from now on. */
export function pollVerdict(waiting: Waiting | null, now: Date): { verdict: PollVerdict; intervalSeconds: number } {
  if (!waiting || waiting.expiresAt <= now) return { verdict: "expired_token", intervalSeconds: firstIntervalSeconds };
  const { status, intervalSeconds, polledAt } = waiting;
  if (status === "denied") return { verdict: "access_denied", intervalSeconds };
  const isEarly = polledAt !== null && now.getTime() - polledAt.getTime() < intervalSeconds * 1_000 - jitterMs;
  if (isEarly) return { verdict: "slow_down", intervalSeconds: intervalSeconds + slowerBySeconds };
  return { verdict: status === "approved" ? "complete" : "authorization_pending", intervalSeconds };
}

const texts: Readonly<Record<Exclude<PollVerdict, "complete">, string>> = {
  authorization_pending: "The sign-in has not been approved yet",
  slow_down: "Wait longer between requests",
  expired_token: "The sign-in has expired or was completed",
  access_denied: "The sign-in was refused",
};

/** The error of a verdict; `slow_down` tells the interval. */
export const refusedPoll = (verdict: Exclude<PollVerdict, "complete">, intervalSeconds = firstIntervalSeconds) =>
  new AppError(verdict, texts[verdict], verdict === "slow_down" ? { facts: { intervalSeconds } } : {});
