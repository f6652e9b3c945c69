import { plainArray, sql, type Tx } from "@muster/db";
import type { Outcome } from "./outcomes.ts";

export type HealthLimits = {
  breakerAttempts: number;
  breakerDeliveries: number;
  breakerFailurePercent: number;
  breakerOpenSeconds: number;
  webhookConcurrency: number;
  failedAfterHours: number;
  failedAfterAttempts: number;
};

export type Tally = {
  webhookId: string;
  /** Deliveries that succeeded, and those that failed permanently. */
  delivered: number;
  failed: number;
  attempts: number;
  /** First attempts among them. */
  deliveries: number;
  breaking: number;
  gone: boolean;
};

/** Adds up a batch per webhook; `counted` are the deliveries whose outcome counts. */
export function tally(outcomes: readonly Outcome[], counted: ReadonlyMap<string, unknown>): Tally[] {
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

/** Webhooks to be marked failed, and webhooks with a breaker that just opened. */
export type HealthChange = { webhook_id: string; exhausted: boolean; opened: boolean };

/** Seconds the breaker counts over, and the longest it stays open. */
const windowSeconds = 60;
const longestOpenSeconds = 300;

// Expressions over row `s`, the added counts `g` and the limits `l`.
const isOpen = sql`coalesce(s.open_until > statement_timestamp(), false)`;
const isAnew = sql`(s.window_started_at IS NULL OR s.window_started_at < statement_timestamp() - l.counted_over)`;
const attempts = sql`(CASE WHEN ${isAnew} THEN 0 ELSE s.window_attempts END + g.attempts)`;
const deliveries = sql`(CASE WHEN ${isAnew} THEN 0 ELSE s.window_deliveries END + g.deliveries)`;
const failures = sql`(CASE WHEN ${isAnew} THEN 0 ELSE s.window_failures END + g.breaking)`;
// The rarest condition first: for most rows nothing else is computed.
const opens = sql`(
  g.breaking + s.window_failures > 0 AND NOT ${isOpen}
  AND ((s.open_seconds > 0 AND g.breaking > 0)
       OR (s.open_seconds = 0 AND ${attempts} >= l.attempts AND ${deliveries} >= l.deliveries
           AND ${failures} * 100 >= ${attempts} * l.failure_percent)))`;
const recovers = sql`(s.open_seconds > 0 AND g.breaking = 0 AND NOT ${isOpen})`;
const isWhole = sql`(${recovers} AND s.slots * 2 >= l.slots)`;
const nextOpenSeconds = sql`(
  CASE WHEN s.open_seconds = 0 THEN l.open_seconds
       ELSE least(s.open_seconds * 2, greatest(l.longest_open_seconds, l.open_seconds)) END)`;

/**
 * Adds the counters and moves the breakers: closed → open when too much of a window broke, open for longer each time;
 * then one request at a time, doubled by each batch that breaks nothing, until all slots are back.
 */
export async function addTallies(tx: Tx, tallies: readonly Tally[], limits: HealthLimits): Promise<HealthChange[]> {
  // A fixed lock order: two batches with the same webhooks never deadlock.
  const sorted = tallies.toSorted((a, b) => (a.webhookId < b.webhookId ? -1 : 1));
  const column = <T extends string | number>(of: (each: Tally) => T) => plainArray(sorted.map(of));
  const { breakerAttempts, breakerDeliveries, breakerFailurePercent, breakerOpenSeconds, webhookConcurrency } = limits;
  // Rows are updated in the order of the arrays, each by one index lookup: these settings leave no other plan.
  const inOrder = tx.execute(sql`
    SELECT set_config('enable_nestloop', 'on', true), set_config('enable_hashjoin', 'off', true),
           set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true),
           set_config('enable_bitmapscan', 'off', true)`);
  const changes = tx.query<HealthChange>(sql`
    UPDATE webhook_endpoint_state s
    SET success_count = s.success_count + g.delivered, failure_count = s.failure_count + g.failed,
        last_delivery_at = statement_timestamp(),
        last_success_at = CASE WHEN g.delivered > 0 THEN statement_timestamp() ELSE s.last_success_at END,
        last_failure_at = CASE WHEN g.attempts > g.delivered THEN statement_timestamp() ELSE s.last_failure_at END,
        failed_attempts = CASE WHEN g.delivered > 0 THEN 0 ELSE s.failed_attempts + g.attempts END,
        failed_in_a_row = CASE WHEN g.delivered > 0 THEN 0 ELSE s.failed_in_a_row + g.failed END,
        failing_since = CASE WHEN g.delivered > 0 THEN NULL
                             ELSE coalesce(s.failing_since, statement_timestamp()) END,
        open_seconds = CASE WHEN ${opens} THEN ${nextOpenSeconds} WHEN ${isWhole} THEN 0 ELSE s.open_seconds END,
        open_until = CASE WHEN ${opens} THEN statement_timestamp() + ${nextOpenSeconds} * interval '1 second'
                          WHEN s.open_seconds = 0 OR ${isWhole} THEN NULL ELSE s.open_until END,
        slots = CASE WHEN ${opens} THEN 1 WHEN ${isWhole} THEN 32767 WHEN ${recovers} THEN s.slots * 2 ELSE s.slots END,
        window_started_at = CASE WHEN ${opens} THEN NULL WHEN ${isAnew} THEN statement_timestamp() ELSE s.window_started_at END,
        window_attempts = CASE WHEN ${opens} THEN 0 ELSE ${attempts} END,
        window_deliveries = CASE WHEN ${opens} THEN 0 ELSE ${deliveries} END,
        window_failures = CASE WHEN ${opens} THEN 0 ELSE ${failures} END
    FROM unnest(${column((t) => t.webhookId)}::uuid[], ${column((t) => t.delivered)}::int[], ${column((t) => t.failed)}::int[],
                ${column((t) => t.attempts)}::int[], ${column((t) => t.deliveries)}::int[], ${column((t) => t.breaking)}::int[])
           AS g (webhook_id, delivered, failed, attempts, deliveries, breaking),
         (SELECT ${windowSeconds}::int * interval '1 second' AS counted_over, ${breakerAttempts}::int AS attempts,
                 ${breakerDeliveries}::int AS deliveries, ${breakerFailurePercent}::int AS failure_percent,
                 ${breakerOpenSeconds}::int AS open_seconds, ${longestOpenSeconds}::int AS longest_open_seconds,
                 ${webhookConcurrency}::int AS slots) AS l
    WHERE s.webhook_id = g.webhook_id
    -- Only a breaker that opened just now has no window.
    RETURNING s.webhook_id, s.window_started_at IS NULL AS opened,
              s.failed_attempts >= ${limits.failedAfterAttempts}::int
              AND s.failing_since <= statement_timestamp() - ${limits.failedAfterHours}::int * interval '1 hour' AS exhausted`);
  return (await Promise.all([inOrder, changes]))[1];
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
