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

/** Requests that partners may start, by id, and the number for every other partner. */
export type PartnerRooms = { rooms: ReadonlyMap<string, number>; otherRoom: number };

/** Most requests in flight, over all senders. */
export type Concurrency = { webhookConcurrency: number; organizationConcurrency: number; hostConcurrency: number };

/*
 * The rule by which a webhook gets a request, as parts of a statement that has `limits` (one row: webhook,
 * organization, host, most, other_room) and, for the second and third part, `partner_rooms` (id, room). rules/shares.ts
 * is the same rule for deliveries that are leased as they are stored.
 */

const limit = (name: Query) => sql`(SELECT l.${name} FROM limits l)`;
/** The fair share of `free` slots: half of them, rounded up. */
const shareOf = (free: Query) => sql`(greatest(0, ${free}) + 1) / 2`;
const hostSlots = sql`${limit(sql`host`)} - sum(k.at_host) OVER (PARTITION BY k.host)`;
const ofPartner = sql`sum(k.at_host) OVER (PARTITION BY k.host, k.partner_id)`;
const ofOrganization = sql`sum(k.at_host) OVER (PARTITION BY k.host, k.org_id)`;

/**
 * `capacity`: the webhooks of `leasing` with the free slots of their organization, of their host, and of their partner
 * and organization at that host. Each row of `leasing` holds `n` slots of its organization and `at_host` of its host.
 */
export const slotCapacity = sql`
  counted AS (
    SELECT k.*, ${limit(sql`organization`)} - sum(k.n) OVER (PARTITION BY k.org_id) AS org_slots,
           ${hostSlots} AS host_slots, ${ofPartner} AS of_partner, ${ofOrganization} AS of_org,
           ${shareOf(sql`${hostSlots} + ${ofPartner}`)} AS partner_share
    FROM leasing k
  ),
  capacity AS (
    SELECT k.*, partner_share - of_partner AS partner_host_slots,
           ${shareOf(sql`partner_share - of_partner + of_org`)} - of_org AS org_host_slots
    FROM counted k
  )`;

/** `bound`: `capacity`, with the requests that each partner may start in this process. */
export const partnerCapacity = sql`
  bound AS MATERIALIZED (
    SELECT k.*, coalesce(p.room, ${limit(sql`other_room`)}) AS partner_slots
    FROM capacity k LEFT JOIN partner_rooms p ON p.id = k.partner_id
  )`;

/**
 * `picked`: those of `found` in their `order` that have a slot of their organization, of their partner, of each of
 * these at their host, and of the host; at most `most`.
 */
export const withinSlots = (order: Query) => sql`
  candidates AS (
    SELECT *, row_number() OVER (PARTITION BY org_id ORDER BY ${order}) AS org_position FROM found
  ),
  of_partners AS (
    SELECT *, row_number() OVER (PARTITION BY host, org_id ORDER BY ${order}) AS org_host_position,
           row_number() OVER (PARTITION BY partner_id ORDER BY ${order}) AS partner_position
    FROM candidates WHERE org_position <= org_slots
  ),
  of_partners_at_hosts AS (
    SELECT *, row_number() OVER (PARTITION BY host, partner_id ORDER BY ${order}) AS partner_host_position
    FROM of_partners WHERE org_host_position <= org_host_slots AND partner_position <= partner_slots
  ),
  of_hosts AS (
    SELECT *, row_number() OVER (PARTITION BY host ORDER BY ${order}) AS host_position
    FROM of_partners_at_hosts WHERE partner_host_position <= partner_host_slots
  ),
  picked AS MATERIALIZED (
    SELECT * FROM of_hosts WHERE host_position <= host_slots ORDER BY ${order} LIMIT ${limit(sql`most`)}
  )`;

/** Slots of a webhook `w` in the state `s`: fewer while its breaker recovers, one when it is ordered. */
export const webhookSlots = sql`least(s.slots, ${limit(sql`webhook`)}, CASE WHEN w.ordered THEN 1 END)`;
/** The breaker of the state `s` lets requests through. */
export const isClosed = sql`(s.open_until IS NULL OR s.open_until <= statement_timestamp())`;

/** The `queued` webhooks with their free slots, and whether each is active with its breaker closed. */
export const webhookCapacity = sql`
  leasing AS (
    SELECT w.id, w.org_id, w.partner_id, w.host, w.generation, w.ordered, b.n::int, b.n::int AS at_host,
           ${webhookSlots} - b.n AS slots,
           w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL AND ${isClosed} AS may_send
    FROM ${webhooksOfQueue}
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS n FROM webhook_queue q
      WHERE q.webhook_id = e.webhook_id AND q.leased AND q.due_at > statement_timestamp()
    ) AS b
  ),
  ${slotCapacity}`;

/** Of `capacity`: the webhooks to which a sender may start a request. */
export const maySend = sql`
  may_send AND slots > 0 AND org_slots > 0 AND host_slots > 0 AND partner_host_slots > 0 AND org_host_slots > 0`;
