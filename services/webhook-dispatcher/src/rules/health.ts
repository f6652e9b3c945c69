import type { Health } from "@muster/kit";
import type { StoredStatus } from "./webhook.ts";

/** What is known of a webhook's requests. */
export type HealthFacts = {
  status: StoredStatus;
  open_until: Date | null;
  open_seconds: number;
  /** Since the last success. */
  failed_attempts: number;
  failing_since: Date | null;
  failed_reason: string | null;
  /** Due time of the oldest delivery that waits; null when none does. */
  next_due_at: Date | null;
};

export type HealthThresholds = {
  /** Failed attempts in a row from which a webhook is failing, and from which it is unreachable. */
  failingAttempts: number;
  unreachableAttempts: number;
  /** Seconds for which the oldest delivery of a slow webhook has been due. */
  slowSeconds: number;
};

/** The health of a webhook, by the first rule that holds (docs/webhooks.md#health-of-a-webhook). */
export function healthOf(facts: HealthFacts, thresholds: HealthThresholds, now: Date): Health {
  const attempts = Number(facts.failed_attempts);
  const since = facts.failing_since ? ` since ${facts.failing_since.toISOString()}` : "";
  if (facts.status === "error") {
    const cause = facts.failed_reason === "gone" ? "it answered 410 Gone" : "no attempt succeeded for days";
    return { status: "unreachable", reason: `Marked failed: ${cause}.` };
  }
  if (facts.open_until !== null && facts.open_until > now) {
    const until = facts.open_until.toISOString();
    const failed =
      attempts >= thresholds.failingAttempts
        ? `${attempts} attempts in a row failed${since}`
        : "Nearly all attempts of a minute failed";
    return { status: "unreachable", reason: `${failed}: deliveries wait until ${until}.` };
  }
  if (attempts >= thresholds.unreachableAttempts) {
    return { status: "unreachable", reason: `${attempts} attempts in a row failed${since}.` };
  }
  if (attempts >= thresholds.failingAttempts) {
    return { status: "failing", reason: `${attempts} attempts in a row failed${since}.` };
  }
  if (facts.open_seconds > 0) {
    return {
      status: "failing",
      reason: "Nearly all attempts of a minute failed: it gets fewer concurrent requests until they succeed.",
    };
  }
  const dueSeconds = facts.next_due_at ? Math.floor((now.getTime() - facts.next_due_at.getTime()) / 1_000) : 0;
  // Deliveries of a paused webhook wait for its users.
  if (facts.status === "active" && dueSeconds >= thresholds.slowSeconds) {
    return { status: "slow", reason: `Its oldest delivery has been due for ${dueSeconds} s.` };
  }
  return { status: "healthy", reason: attempts === 0 ? "No recent attempt failed." : "Few attempts failed." };
}
