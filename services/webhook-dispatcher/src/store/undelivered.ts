import { type Database, type Query, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { visibleTo } from "@muster/service";

/** Most deliveries that are fetched one by one. */
const most = 10_000;

type Key = { id: string; created_at: Date };

/**
 * The deliveries of a webhook that were not delivered, as a table: those of its queue and of its dead letters, and
 * those of cancelled replays (which have the time of their replay), where one fails without a dead letter. No index
 * tells them from the millions that a healthy webhook delivered. Null when they are too many to be fetched one by one:
 * the list is read as any other then.
 */
export async function undelivered(db: Database, who: CallContext, webhookId: string): Promise<Query | null> {
  const keys = await db.read<Key>(
    who,
    sql`
      (SELECT t.delivery_id AS id, t.created_at FROM webhook_queue t
       WHERE t.webhook_id = ${webhookId} AND ${visibleTo(who.caller)} LIMIT ${most + 1})
      UNION
      (SELECT t.delivery_id, t.delivery_created_at FROM webhook_dead_letters t
       WHERE t.webhook_id = ${webhookId} AND ${visibleTo(who.caller)} LIMIT ${most + 1})
      UNION
      (SELECT d.id, d.created_at FROM webhook_replays t
       CROSS JOIN LATERAL (
         SELECT d.id, d.created_at FROM webhook_deliveries d
         WHERE d.webhook_id = t.webhook_id AND d.created_at = t.created_at LIMIT ${most + 1}
       ) AS d
       WHERE t.webhook_id = ${webhookId} AND t.state = 'cancelled' AND ${visibleTo(who.caller)} LIMIT ${most + 1})
      LIMIT ${most + 1}`,
  );
  if (keys.length > most) return null;
  const ids = keys.map(({ id }) => id);
  const times = keys.map((key) => key.created_at);
  // Each by its key (OFFSET): the planner would read all deliveries of the webhook and compare.
  return sql`(
    SELECT d.* FROM unnest(${ids}::uuid[], ${times}::timestamptz[]) AS k (id, created_at)
    CROSS JOIN LATERAL (
      SELECT * FROM webhook_deliveries d WHERE d.id = k.id AND d.created_at = k.created_at OFFSET 0
    ) AS d
  )`;
}
