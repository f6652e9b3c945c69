import { type Query, sql } from "@muster/db";

/**
 * Most due retries for which webhooks are read one by one; beyond them all webhooks with queued deliveries are read.
 */
const mostRetries = 2_000;

const skipsTo = (webhooks: Query, where: Query) => sql`
  (SELECT q.webhook_id FROM webhook_queue q WHERE ${where} ORDER BY q.webhook_id LIMIT 1)
  UNION ALL
  SELECT (SELECT q.webhook_id FROM webhook_queue q
          WHERE ${where} AND q.webhook_id > e.webhook_id ORDER BY q.webhook_id LIMIT 1)
  FROM ${webhooks} e WHERE e.webhook_id IS NOT NULL`;

/**
 * For WITH RECURSIVE: `queued`, the webhooks with leased deliveries, and those without an open breaker that have
 * waiting first attempts or retries that are due within `withinMs` from now; occasionally others. It takes one index
 * lookup for each of them, and none for webhooks with later retries (webhook_queue_firsts, webhook_queue_retries).
 */
export const queuedWebhooks = (withinMs = 0) => sql`
  retries AS MATERIALIZED (
    SELECT q.webhook_id FROM webhook_queue q
    WHERE q.is_retry AND NOT q.leased AND q.due_at <= statement_timestamp() + ${withinMs}::int * interval '1 millisecond'
    ORDER BY q.due_at LIMIT ${mostRetries}::int + 1
  ),
  width AS MATERIALIZED (SELECT count(*) > ${mostRetries}::int AS beyond FROM retries),
  firsts AS (${skipsTo(sql`firsts`, sql`NOT (SELECT beyond FROM width) AND NOT q.is_retry AND NOT q.leased`)}),
  everything AS (${skipsTo(sql`everything`, sql`(SELECT beyond FROM width)`)}),
  queued AS MATERIALIZED (
    SELECT u.webhook_id
    FROM (
      SELECT webhook_id FROM firsts UNION SELECT webhook_id FROM everything
      UNION SELECT webhook_id FROM retries WHERE NOT (SELECT beyond FROM width)
    ) AS u
    WHERE u.webhook_id NOT IN (SELECT s.webhook_id FROM webhook_endpoint_state s WHERE s.open_until > statement_timestamp())
    UNION
    SELECT webhook_id FROM webhook_queue WHERE leased
  )`;

/**
 * Of `queued`, each webhook `w` and its state `s`, fetched by their keys (OFFSET): under row-level security the
 * planner would read all webhooks and compare each with each queued one.
 */
export const webhooksOfQueue = sql`
  queued e
  CROSS JOIN LATERAL (
    SELECT w.id, w.org_id, w.partner_id, w.host, w.generation, w.ordered, w.status, w.deleted_at, w.stopped_at
    FROM webhooks w WHERE w.id = e.webhook_id OFFSET 0
  ) AS w
  CROSS JOIN LATERAL (
    SELECT s.slots, s.open_until FROM webhook_endpoint_state s WHERE s.webhook_id = e.webhook_id OFFSET 0
  ) AS s`;

/** Most requests in flight, over all senders. */
export type Concurrency = { webhookConcurrency: number; organizationConcurrency: number; hostConcurrency: number };

/** The fair share of `free` slots, as in rules/shares.ts. */
const shareOf = (free: Query) => sql`(greatest(0, ${free}) + 1) / 2`;
const perHost = sql`sum(k.n) OVER (PARTITION BY k.host)`;
const perPartner = sql`sum(k.n) OVER (PARTITION BY k.host, k.partner_id)`;
const perOrganization = sql`sum(k.n) OVER (PARTITION BY k.host, k.org_id)`;

/**
 * `capacity`: the `queued` webhooks, each with the free slots of itself, its organization and its host, of its partner
 * and its organization at this host, and whether it is active with its breaker closed.
 */
export const webhookCapacity = ({ webhookConcurrency, organizationConcurrency, hostConcurrency }: Concurrency) => sql`
  leasing AS (
    SELECT w.id, w.org_id, w.partner_id, w.host, w.generation, w.ordered, b.n::int,
           least(s.slots, ${webhookConcurrency}::int, CASE WHEN w.ordered THEN 1 END) - b.n AS slots,
           w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL
           AND (s.open_until IS NULL OR s.open_until <= statement_timestamp()) AS may_send
    FROM ${webhooksOfQueue}
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS n FROM webhook_queue q
      WHERE q.webhook_id = e.webhook_id AND q.leased AND q.due_at > statement_timestamp()
    ) AS b
  ),
  counted AS (
    SELECT k.*, ${organizationConcurrency}::int - sum(k.n) OVER (PARTITION BY k.org_id) AS org_slots,
           ${hostConcurrency}::int - ${perHost} AS host_slots, ${perPartner} AS of_partner, ${perOrganization} AS of_org,
           ${shareOf(sql`${hostConcurrency}::int - ${perHost} + ${perPartner}`)} AS partner_share
    FROM leasing k
  ),
  capacity AS (
    SELECT k.*, partner_share - of_partner AS partner_host_slots,
           ${shareOf(sql`partner_share - of_partner + of_org`)} - of_org AS org_host_slots
    FROM counted k
  )`;

/** Of `capacity`: the webhooks to which a sender may start a request. */
export const maySend = sql`
  may_send AND slots > 0 AND org_slots > 0 AND host_slots > 0 AND partner_host_slots > 0 AND org_host_slots > 0`;
