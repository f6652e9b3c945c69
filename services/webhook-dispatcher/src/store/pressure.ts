import { byIndexAlone, sql, type Tx } from "@muster/db";

export type PressureLimits = { endpointSlots: number; organizationSlots: number; olderMs: number };

/** A webhook whose oldest delivery could be sent and was not, or an organization whose events are put aside, for longer than allowed. */
export type Behind = { orgId: string; webhookId: string | null };

/** What waits for senders and matchers for longer than `olderMs`; not what waits for its own receiver or for its own share. Reads only. */
export async function behindOf(
  tx: Tx,
  { endpointSlots, organizationSlots, olderMs }: PressureLimits,
): Promise<Behind[]> {
  const before = sql`statement_timestamp() - ${olderMs}::int * interval '1 millisecond'`;
  const [, webhooks, organizations] = await Promise.all([
    byIndexAlone(tx),
    tx.query<Behind>(sql`
      WITH RECURSIVE queued AS (
        (SELECT webhook_id FROM webhook_queue ORDER BY webhook_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.webhook_id FROM webhook_queue q WHERE q.webhook_id > e.webhook_id ORDER BY q.webhook_id LIMIT 1)
        FROM queued e WHERE e.webhook_id IS NOT NULL
      ), heads AS (
        SELECT w.id, w.org_id, l.leased, sum(l.leased) OVER (PARTITION BY w.org_id) AS of_org,
               least(s.slots, ${endpointSlots}::int, CASE WHEN w.ordered THEN 1 END) AS slots,
               (SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = w.id AND NOT q.is_retry ORDER BY q.due_at LIMIT 1) AS due_at
        FROM queued e
        JOIN webhooks w ON w.id = e.webhook_id
        JOIN webhook_endpoint_state s ON s.webhook_id = e.webhook_id
        CROSS JOIN LATERAL (
          SELECT count(*)::int AS leased FROM webhook_queue q
          WHERE q.webhook_id = w.id AND q.leased AND q.due_at > statement_timestamp()
        ) AS l
        WHERE w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL
          AND (s.open_until IS NULL OR s.open_until <= statement_timestamp())
      )
      SELECT org_id AS "orgId", id AS "webhookId" FROM heads
      WHERE due_at < ${before} AND leased < slots AND of_org < ${organizationSlots}::int`),
    tx.query<Behind>(sql`
      WITH RECURSIVE orgs AS (
        (SELECT org_id FROM webhook_backlog ORDER BY org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT b.org_id FROM webhook_backlog b WHERE b.org_id > o.org_id ORDER BY b.org_id LIMIT 1)
        FROM orgs o WHERE o.org_id IS NOT NULL
      )
      SELECT o.org_id AS "orgId", NULL AS "webhookId" FROM orgs o
      CROSS JOIN LATERAL (
        SELECT b.put_at FROM webhook_backlog b WHERE b.org_id = o.org_id ORDER BY b.seq, b.id LIMIT 1
      ) AS first
      WHERE first.put_at < ${before}`),
  ]);
  return [...webhooks, ...organizations];
}
