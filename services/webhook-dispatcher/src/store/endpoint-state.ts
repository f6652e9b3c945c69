import { plainArray, sql, type Tx } from "@muster/db";
import type { Outcome } from "./outcomes.ts";

export type HealthLimits = {
  breakerAttempts: number;
  breakerDeliveries: number;
  breakerFailurePercent: number;
  breakerOpenSeconds: number;
  endpointSlots: number;
  failedAfterHours: number;
  failedAfterDeliveries: number;
};

export type Tally = {
  webhookId: string;
  /** Deliveries that ended well, and for good otherwise. */
  delivered: number;
  failed: number;
  attempts: number;
  /** First attempts among them. */
  deliveries: number;
  breaking: number;
  gone: boolean;
};

/** Adds up a batch per webhook; `counted` are the deliveries whose outcome counts. */
export function tally(outcomes: readonly Outcome[], counted: ReadonlySet<string>): Tally[] {
  const tallies = new Map<string, Tally>();
  for (const { claim, next, breaks, gone } of outcomes) {
    const webhookId = claim.webhook_id;
    const none = { webhookId, delivered: 0, failed: 0, attempts: 0, deliveries: 0, breaking: 0, gone: false };
    const sum = tallies.get(webhookId) ?? none;
    tallies.set(webhookId, sum);
    const counts = counted.has(claim.delivery_id);
    if (counts && next.status === "delivered") sum.delivered += 1;
    if (counts && next.status === "failed") sum.failed += 1;
    sum.attempts += 1;
    sum.deliveries += claim.attempt === 1 ? 1 : 0;
    sum.breaking += breaks ? 1 : 0;
    sum.gone ||= gone;
  }
  return [...tallies.values()];
}

/** Webhooks that are to be marked failed, and those whose breaker opened. */
export type HealthChange = { webhook_id: string; exhausted: boolean; opened: boolean };

/** Seconds the breaker counts over, and the longest it stays open. */
const windowSeconds = 60;
const longestOpenSeconds = 300;

/**
 * Adds the counters and moves the breakers: closed → open when too much of a window broke, open for longer each time; then one request at a
 * time, doubled by each batch that breaks nothing, until all slots are back.
 */
export function addTallies(tx: Tx, tallies: readonly Tally[], limits: HealthLimits): Promise<HealthChange[]> {
  const column = <T>(of: (each: Tally) => T) => tallies.map(of);
  const { breakerAttempts, breakerDeliveries, breakerFailurePercent, breakerOpenSeconds, endpointSlots } = limits;
  return tx.query<HealthChange>(sql`
    WITH given AS (
      SELECT * FROM unnest(${plainArray(column((t) => t.webhookId))}::uuid[], ${plainArray(column((t) => t.delivered))}::int[],
        ${plainArray(column((t) => t.failed))}::int[], ${plainArray(column((t) => t.attempts))}::int[], ${plainArray(column((t) => t.deliveries))}::int[],
        ${plainArray(column((t) => t.breaking))}::int[])
        AS g (webhook_id, delivered, failed, attempts, deliveries, breaking)
    ),
    -- In one order for all senders: two batches with the same webhooks never wait for each other in a circle.
    old AS MATERIALIZED (
      SELECT s.* FROM webhook_endpoint_state s WHERE s.webhook_id = ANY (${plainArray(column((t) => t.webhookId))}::uuid[])
      ORDER BY s.webhook_id FOR UPDATE
    ),
    counted AS (
      SELECT o.webhook_id, g.delivered, g.failed, g.breaking, g.attempts, o.open_seconds, o.slots,
             coalesce(o.open_until > statement_timestamp(), false) AS is_open, w.*
      FROM old o JOIN given g USING (webhook_id)
      CROSS JOIN LATERAL (
        SELECT o.window_started_at IS NULL
               OR o.window_started_at < statement_timestamp() - ${windowSeconds}::int * interval '1 second' AS anew
      ) AS n
      CROSS JOIN LATERAL (
        SELECT CASE WHEN n.anew THEN statement_timestamp() ELSE o.window_started_at END AS window_started_at,
               CASE WHEN n.anew THEN 0 ELSE o.window_attempts END + g.attempts AS window_attempts,
               CASE WHEN n.anew THEN 0 ELSE o.window_deliveries END + g.deliveries AS window_deliveries,
               CASE WHEN n.anew THEN 0 ELSE o.window_failures END + g.breaking AS window_failures
      ) AS w
    ),
    judged AS (
      SELECT c.*,
             NOT c.is_open AND (
               (c.open_seconds > 0 AND c.breaking > 0)
               OR (c.open_seconds = 0 AND c.window_attempts >= ${breakerAttempts}::int
                   AND c.window_deliveries >= ${breakerDeliveries}::int
                   AND c.window_failures * 100 >= c.window_attempts * ${breakerFailurePercent}::int)) AS opens,
             NOT c.is_open AND c.open_seconds > 0 AND c.breaking = 0 AS recovers
      FROM counted c
    ),
    next AS (
      SELECT j.*,
             CASE WHEN j.opens AND j.open_seconds = 0 THEN ${breakerOpenSeconds}::int
                  WHEN j.opens THEN least(j.open_seconds * 2, greatest(${longestOpenSeconds}::int, ${breakerOpenSeconds}::int))
                  WHEN j.recovers AND j.slots * 2 >= ${endpointSlots}::int THEN 0
                  ELSE j.open_seconds END AS next_open_seconds
      FROM judged j
    )
    UPDATE webhook_endpoint_state s
    SET success_count = s.success_count + n.delivered, failure_count = s.failure_count + n.failed,
        last_delivery_at = statement_timestamp(),
        last_success_at = CASE WHEN n.delivered > 0 THEN statement_timestamp() ELSE s.last_success_at END,
        last_failure_at = CASE WHEN n.attempts > n.delivered THEN statement_timestamp() ELSE s.last_failure_at END,
        failed_attempts = CASE WHEN n.delivered > 0 THEN 0 ELSE s.failed_attempts + n.attempts END,
        failed_in_a_row = CASE WHEN n.delivered > 0 THEN 0 ELSE s.failed_in_a_row + n.failed END,
        failing_since = CASE WHEN n.delivered > 0 THEN NULL
                             WHEN n.failed > 0 THEN coalesce(s.failing_since, statement_timestamp())
                             ELSE s.failing_since END,
        open_seconds = n.next_open_seconds,
        open_until = CASE WHEN n.opens THEN statement_timestamp() + n.next_open_seconds * interval '1 second'
                          WHEN n.next_open_seconds = 0 THEN NULL ELSE s.open_until END,
        slots = CASE WHEN n.opens THEN 1
                     WHEN n.recovers AND n.next_open_seconds = 0 THEN 32767
                     WHEN n.recovers THEN n.slots * 2
                     ELSE s.slots END,
        window_started_at = CASE WHEN n.opens THEN NULL ELSE n.window_started_at END,
        window_attempts = CASE WHEN n.opens THEN 0 ELSE n.window_attempts END,
        window_deliveries = CASE WHEN n.opens THEN 0 ELSE n.window_deliveries END,
        window_failures = CASE WHEN n.opens THEN 0 ELSE n.window_failures END
    FROM next n WHERE s.webhook_id = n.webhook_id
    RETURNING s.webhook_id, n.opens AS opened,
              s.failed_in_a_row >= ${limits.failedAfterDeliveries}::int
              AND s.failing_since <= statement_timestamp() - ${limits.failedAfterHours}::int * interval '1 hour' AS exhausted`);
}

export type FailedWebhook = { id: string; org_id: string; partner_id: string; name: string };

/** Marks active webhooks as failed, each for its reason; returns those that were not before. */
export async function markFailed(tx: Tx, reasons: ReadonlyMap<string, string>): Promise<FailedWebhook[]> {
  const failed = await tx.query<FailedWebhook>(sql`
    UPDATE webhooks SET status = 'error', generation = generation + 1, updated_at = statement_timestamp()
    WHERE id = ANY (${plainArray([...reasons.keys()])}::uuid[]) AND status = 'active' AND deleted_at IS NULL
    RETURNING id, org_id, partner_id, name`);
  await tx.execute(sql`
    UPDATE webhook_endpoint_state s SET failed_reason = x.reason
    FROM unnest(${plainArray(failed.map(({ id }) => id))}::uuid[], ${failed.map(({ id }) => reasons.get(id))}::text[]) AS x (id, reason)
    WHERE s.webhook_id = x.id`);
  return failed;
}
