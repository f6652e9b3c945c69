import { byIndexAlone, sql, type Tx } from "@muster/db";
import { knownWebhooks, maySend, queuedWebhooks, type Slots } from "./queued.ts";

export type PressureLimits = Slots & { olderMs: number };

/**
 * A webhook whose oldest delivery could have been sent, or an organization whose backlog waits, for longer than
 * allowed.
 */
export type Behind = { orgId: string; webhookId: string | null };

/**
 * Webhooks and organizations for whose deliveries or backlog no sender or matcher had time for longer than `olderMs`;
 * without those that wait for their own receiver or share. Reads only.
 */
export async function behindOf(tx: Tx, { olderMs, ...slots }: PressureLimits): Promise<Behind[]> {
  const before = sql`statement_timestamp() - ${olderMs}::int * interval '1 millisecond'`;
  const [, webhooks, organizations] = await Promise.all([
    byIndexAlone(tx),
    tx.query<Behind>(sql`
      WITH RECURSIVE ${queuedWebhooks()}, ${sendable(slots)}
      SELECT org_id AS "orgId", id AS "webhookId" FROM sendable WHERE first_due_at < ${before}`),
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

/**
 * The planner's estimate of queued deliveries, and the seconds since the oldest one that a sender may start fell due.
 */
export async function queueAge(tx: Tx, slots: Slots): Promise<{ rows: number; oldestDueSeconds: number }> {
  const [, [row]] = await Promise.all([
    byIndexAlone(tx),
    tx.query<{ rows: number; oldest: number | null }>(sql`
      WITH RECURSIVE ${queuedWebhooks()}, ${sendable(slots)}
      SELECT (SELECT reltuples::bigint FROM pg_class WHERE oid = 'webhook_queue'::regclass) AS rows,
             extract(epoch FROM statement_timestamp() - min(least(first_due_at, retry_due_at)))::float8 AS oldest
      FROM sendable`),
  ]);
  return { rows: Math.max(0, row?.rows ?? 0), oldestDueSeconds: Math.max(0, row?.oldest ?? 0) };
}

/**
 * `sendable`: the webhooks to which a sender may begin a request, with the times of their next first attempt and retry.
 */
const sendable = (slots: Slots) => sql`
  ${knownWebhooks(slots)},
  sendable AS (
    SELECT k.id, k.org_id,
           (SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = k.id AND NOT q.is_retry ORDER BY q.due_at LIMIT 1)
             AS first_due_at,
           (SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = k.id AND q.is_retry ORDER BY q.due_at LIMIT 1)
             AS retry_due_at
    FROM known k WHERE ${maySend}
  )`;
