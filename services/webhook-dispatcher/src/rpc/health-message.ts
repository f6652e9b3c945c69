import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type WebhookHealth, WebhookHealthSchema } from "@muster/proto/muster/webhook/v1/webhook_pb";
import type { StoredStatus } from "../rules/webhook.ts";
import type { WebhookHealthRow } from "../store/health.ts";

/**
 * The health of a webhook at `now`. Unless it is active, nothing is due and there is no next attempt, even with
 * deliveries in its queue.
 */
export function healthMessage(status: StoredStatus, row: WebhookHealthRow | null, now: Date): WebhookHealth {
  if (!row) throw new Error("a webhook lacks its state");
  const isOpen = row.open_until !== null && row.open_until > now;
  const due = status === "active" ? row.next_due_at : null;
  // An open breaker delays due deliveries.
  const nextAt = due && new Date(Math.max(due.getTime(), isOpen ? (row.open_until?.getTime() ?? 0) : 0));
  return create(WebhookHealthSchema, {
    breaker: isOpen ? "open" : row.open_seconds > 0 ? "recovering" : "closed",
    ...(isOpen && row.open_until ? { openUntil: timestampFromDate(row.open_until) } : {}),
    failedAttempts: BigInt(row.failed_attempts),
    failedDeliveries: BigInt(row.failed_in_a_row),
    ...(row.failing_since ? { failingSince: timestampFromDate(row.failing_since) } : {}),
    ...(row.last_success_at ? { lastSuccessAt: timestampFromDate(row.last_success_at) } : {}),
    ...(row.last_failure_at ? { lastFailureAt: timestampFromDate(row.last_failure_at) } : {}),
    oldestDueSeconds: due ? Math.max(0, (now.getTime() - due.getTime()) / 1_000) : 0,
    ...(nextAt ? { nextAttemptAt: timestampFromDate(nextAt) } : {}),
    failedReason: row.failed_reason ?? "",
    inFlight: row.in_flight,
  });
}
