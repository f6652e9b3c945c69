import { type Query, sql } from "@muster/db";

/**
 * For WITH RECURSIVE: `queued`, the webhooks with queued deliveries, and a null. It takes one index lookup
 * (webhook_queue_due) per webhook, however many rows it has.
 */
export const queuedWebhooks = sql`
  queued AS (
    (SELECT webhook_id FROM webhook_queue ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.webhook_id FROM webhook_queue q WHERE q.webhook_id > e.webhook_id ORDER BY q.webhook_id LIMIT 1)
    FROM queued e WHERE e.webhook_id IS NOT NULL
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
