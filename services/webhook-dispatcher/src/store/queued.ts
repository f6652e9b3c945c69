import { type Query, sql } from "@muster/db";

/** Retries that fall due, of which the webhooks are read one by one; of more, all webhooks with queued deliveries are. */
const mostRetries = 2_000;

const skipsTo = (webhooks: Query, where: Query) => sql`
  (SELECT q.webhook_id FROM webhook_queue q WHERE ${where} ORDER BY q.webhook_id LIMIT 1)
  UNION ALL
  SELECT (SELECT q.webhook_id FROM webhook_queue q
          WHERE ${where} AND q.webhook_id > e.webhook_id ORDER BY q.webhook_id LIMIT 1)
  FROM ${webhooks} e WHERE e.webhook_id IS NOT NULL`;

/**
 * For WITH RECURSIVE: `queued`, the webhooks with leased deliveries, and those without an open breaker that have waiting
 * first attempts or retries that are due within `withinMs` from now; now and then others. It takes one index lookup for
 * each of them, and none for those whose retries are due later (webhook_queue_firsts, webhook_queue_retries).
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
 * Of `queued`, each webhook `w` and its state `s`, fetched by their keys (OFFSET): behind row-level security the
 * planner would read all webhooks there are and compare each with each that is queued.
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

/** Most concurrent requests, over all senders. */
export type Slots = { endpointSlots: number; organizationSlots: number; hostSlots: number };

/** Most of `free` that one holder may have; rules/shares.ts says the same. */
const shareOf = (free: Query) => sql`(greatest(0, ${free}) + 1) / 2`;
const perHost = sql`sum(k.n) OVER (PARTITION BY k.host)`;
const perPartner = sql`sum(k.n) OVER (PARTITION BY k.host, k.partner_id)`;
const perOrganization = sql`sum(k.n) OVER (PARTITION BY k.host, k.org_id)`;

/**
 * `known`: the `queued` webhooks, each with the requests that it, its organization and its host may still begin now,
 * its partner and its organization at this host, and whether it is active with its breaker closed.
 */
export const knownWebhooks = ({ endpointSlots, organizationSlots, hostSlots }: Slots) => sql`
  leasing AS (
    SELECT w.id, w.org_id, w.partner_id, w.host, w.generation, w.ordered, b.n::int,
           least(s.slots, ${endpointSlots}::int, CASE WHEN w.ordered THEN 1 END) - b.n AS slots,
           w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL
           AND (s.open_until IS NULL OR s.open_until <= statement_timestamp()) AS may_send
    FROM ${webhooksOfQueue}
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS n FROM webhook_queue q
      WHERE q.webhook_id = e.webhook_id AND q.leased AND q.due_at > statement_timestamp()
    ) AS b
  ),
  counted AS (
    SELECT k.*, ${organizationSlots}::int - sum(k.n) OVER (PARTITION BY k.org_id) AS org_slots,
           ${hostSlots}::int - ${perHost} AS host_slots, ${perPartner} AS of_partner, ${perOrganization} AS of_org,
           ${shareOf(sql`${hostSlots}::int - ${perHost} + ${perPartner}`)} AS partner_share
    FROM leasing k
  ),
  known AS (
    SELECT k.*, partner_share - of_partner AS partner_host_slots,
           ${shareOf(sql`partner_share - of_partner + of_org`)} - of_org AS org_host_slots
    FROM counted k
  )`;

/** Of `known`: those to which a sender may begin a request. */
export const maySend = sql`
  may_send AND slots > 0 AND org_slots > 0 AND host_slots > 0 AND partner_host_slots > 0 AND org_host_slots > 0`;
