import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";

export type WebhookHealthRow = {
  slots: number;
  open_until: Date | null;
  open_seconds: number;
  failed_attempts: number;
  failed_in_a_row: number;
  failing_since: Date | null;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  failed_reason: string | null;
  /** Due time of the oldest waiting delivery; null when none waits. */
  next_due_at: Date | null;
  in_flight: number;
};

/** The health of a webhook, and its queue (indexes webhook_queue_due, webhook_queue_leased). */
export async function webhookHealth(db: Database, who: CallContext, id: string): Promise<WebhookHealthRow | null> {
  const [row] = await db.read<WebhookHealthRow>(
    who,
    sql`
      SELECT s.slots, s.open_until, s.open_seconds, s.failed_attempts, s.failed_in_a_row, s.failing_since,
             s.last_success_at, s.last_failure_at, s.failed_reason, least(first.due_at, retry.due_at) AS next_due_at,
             (SELECT count(*)::int FROM webhook_queue q
              WHERE q.webhook_id = s.webhook_id AND q.leased AND q.due_at > now()) AS in_flight
      FROM webhook_endpoint_state s
      LEFT JOIN LATERAL (
        SELECT q.due_at FROM webhook_queue q
        WHERE q.webhook_id = s.webhook_id AND NOT q.is_retry AND NOT (q.leased AND q.due_at > now())
        ORDER BY q.due_at LIMIT 1
      ) AS first ON true
      LEFT JOIN LATERAL (
        SELECT q.due_at FROM webhook_queue q
        WHERE q.webhook_id = s.webhook_id AND q.is_retry AND NOT (q.leased AND q.due_at > now())
        ORDER BY q.due_at LIMIT 1
      ) AS retry ON true
      WHERE s.webhook_id = ${id}`,
  );
  return row ?? null;
}
