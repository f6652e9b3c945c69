import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

/** Deliveries of active webhooks that are due and not being sent, counted up to 100,000, and the age of the oldest. */
export async function dueDeliveries(db: Database): Promise<{ due: number; oldestSeconds: number }> {
  const [row] = await db.read<{ due: number; oldestSeconds: number }>(
    { caller: systemCaller("webhook-dispatcher") },
    sql`SELECT count(*)::int AS due,
               coalesce(extract(epoch FROM now() - min(waiting.due_at)), 0)::float8 AS "oldestSeconds"
        FROM (SELECT q.due_at FROM webhook_queue q JOIN webhooks w ON w.id = q.webhook_id
              WHERE q.due_at <= now() AND w.status = 'active' AND w.stopped_at IS NULL AND w.deleted_at IS NULL
              LIMIT 100000) AS waiting`,
  );
  return row ?? { due: 0, oldestSeconds: 0 };
}
