import { type Database, type Query, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { HealthFacts } from "../rules/health.ts";

/** What the health of a webhook follows from, besides its own status. */
export type HealthState = Omit<HealthFacts, "status">;

export type WebhookHealthRow = HealthState & {
  slots: number;
  failed_in_a_row: number;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  in_flight: number;
};

/** Columns of the state `s` of a webhook. */
export const healthColumns = sql`s.open_until, s.open_seconds, s.failed_attempts, s.failing_since, s.failed_reason`;

/** Due time of the oldest delivery of a webhook that waits, null when none does (index webhook_queue_due). */
export const oldestDue = (webhookId: Query): Query => sql`least(
  (SELECT q.due_at FROM webhook_queue q
   WHERE q.webhook_id = ${webhookId} AND NOT q.is_retry AND NOT (q.leased AND q.due_at > now()) ORDER BY q.due_at LIMIT 1),
  (SELECT q.due_at FROM webhook_queue q
   WHERE q.webhook_id = ${webhookId} AND q.is_retry AND NOT (q.leased AND q.due_at > now()) ORDER BY q.due_at LIMIT 1))`;

/** The health of a webhook, and its queue (indexes webhook_queue_due, webhook_queue_leased). */
export async function webhookHealth(db: Database, who: CallContext, id: string): Promise<WebhookHealthRow | null> {
  const [row] = await db.read<WebhookHealthRow>(
    who,
    sql`
      SELECT ${healthColumns}, s.slots, s.failed_in_a_row, s.last_success_at, s.last_failure_at,
             ${oldestDue(sql`s.webhook_id`)} AS next_due_at,
             (SELECT count(*)::int FROM webhook_queue q
              WHERE q.webhook_id = s.webhook_id AND q.leased AND q.due_at > now()) AS in_flight
      FROM webhook_endpoint_state s WHERE s.webhook_id = ${id}`,
  );
  return row ?? null;
}
