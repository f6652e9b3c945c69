import { byIndexAlone, sql, type Tx } from "@muster/db";
import { type Concurrency, maySend, queuedWebhooks, webhookCapacity } from "./queued.ts";

export type ThrottleLimits = Concurrency & { overdueMaxMs: number };

/**
 * A webhook with a sendable delivery, or (`webhookId` null) an organization with a backlog, that is overdue.
 */
export type Throttled = { orgId: string; webhookId: string | null };

/**
 * The webhooks and organizations with deliveries or a backlog that no sender or matcher took for `overdueMaxMs`, except
 * deliveries that wait for a slot of their own webhook or for their fair share. Reads only.
 */
export async function findThrottled(tx: Tx, { overdueMaxMs, ...concurrency }: ThrottleLimits): Promise<Throttled[]> {
  const before = sql`statement_timestamp() - ${overdueMaxMs}::int * interval '1 millisecond'`;
  const [, webhooks, organizations] = await Promise.all([
    byIndexAlone(tx),
    tx.query<Throttled>(sql`
      WITH RECURSIVE ${queuedWebhooks()}, ${sendable(concurrency)}
      SELECT org_id AS "orgId", id AS "webhookId" FROM sendable WHERE first_due_at < ${before}`),
    tx.query<Throttled>(sql`
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
export async function queueAge(tx: Tx, concurrency: Concurrency): Promise<{ rows: number; oldestDueSeconds: number }> {
  const [, [row]] = await Promise.all([
    byIndexAlone(tx),
    tx.query<{ rows: number; oldest: number | null }>(sql`
      WITH RECURSIVE ${queuedWebhooks()}, ${sendable(concurrency)}
      SELECT (SELECT reltuples::bigint FROM pg_class WHERE oid = 'webhook_queue'::regclass) AS rows,
             extract(epoch FROM statement_timestamp() - min(least(first_due_at, retry_due_at)))::float8 AS oldest
      FROM sendable`),
  ]);
  return { rows: Math.max(0, row?.rows ?? 0), oldestDueSeconds: Math.max(0, row?.oldest ?? 0) };
}

/**
 * `sendable`: the webhooks to which a sender may start a request, with the times of their next first attempt and retry.
 * An ordered webhook has no first attempt to start while an earlier delivery waits for its retry.
 */
const sendable = ({ webhookConcurrency, organizationConcurrency, hostConcurrency }: Concurrency) => sql`
  limits AS MATERIALIZED (
    SELECT ${webhookConcurrency}::int AS webhook, ${organizationConcurrency}::int AS organization,
           ${hostConcurrency}::int AS host
  ),
  ${webhookCapacity},
  sendable AS (
    SELECT k.id, k.org_id,
           (SELECT q.due_at FROM webhook_queue q
            WHERE q.webhook_id = k.id AND NOT q.is_retry AND NOT (k.ordered AND r.due_at IS NOT NULL)
            ORDER BY q.due_at LIMIT 1) AS first_due_at,
           r.due_at AS retry_due_at
    FROM capacity k
    LEFT JOIN LATERAL (
      SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = k.id AND q.is_retry ORDER BY q.due_at LIMIT 1
    ) AS r ON true
    WHERE ${maySend}
  )`;
