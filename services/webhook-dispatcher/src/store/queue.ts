import { byIndexAlone, type Database, plainArray, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { Poster } from "../rules/poster.ts";
import { isDayKept } from "./days.ts";
import {
  type Concurrency,
  maySend,
  type PartnerRooms,
  partnerCapacity,
  queuedWebhooks,
  webhookCapacity,
  webhooksOfQueue,
  withinSlots,
} from "./queued.ts";

export type ClaimLimits = Concurrency & {
  /** Most deliveries of one claim. */
  most: number;
  leaseMs: number;
  partners: PartnerRooms;
};

/** A delivery that is now this sender's until its lease ends. */
export type Claimed = {
  delivery_id: string;
  created_at: Date;
  webhook_id: string;
  org_id: string;
  partner_id: string;
  event_id: string;
  /** Host at which requests are counted, over all webhooks. */
  host: string;
  /** Number of the attempt that follows, from 1; the fence of this claim. */
  attempt: number;
  failures: number;
  interruptions: number;
  /** Its last sender's lease expired: it is unknown whether the receiver got the request. */
  was_leased: boolean;
  /** Generation of the webhook when it was claimed. */
  generation: number;
};

/** One claim at a time, over all senders: free slots are counted from rows that other claims would change meanwhile. */
export const claimLock = 7_166_340_215;

/** The payload of a request. */
export type Payload = {
  type: string;
  body: string;
  /** Trace context of the event, so that each attempt belongs to its trace. */
  traceparent: string | null;
  poster: Poster;
};

type ClaimedRow = Claimed &
  Omit<Payload, "body"> & {
    /** The first row of its event, which has its body; null when that is past its retention. */
    is_first: boolean;
    body: string | null;
    blocked: string[] | null;
  };

const system = { caller: systemCaller("webhook-dispatcher") };
const keyOf = ({ org_id: orgId, event_id: eventId, created_at: at }: Claimed) => `${orgId}/${eventId}/${at.getTime()}`;

/**
 * For WITH RECURSIVE, after `limits` and `partner_rooms`. Eleven parts, each with what was measured of alternatives:
 *
 * 1. `queued`: the webhooks that may have something to send (store/queued.ts). All webhooks with queued deliveries: 300
 *    ms with 10,000 that wait for retries, 11 so.
 * 2. `leasing`: their slots, counted from leased rows, so that a crash leaks none. A counter per webhook: each outcome
 *    would write it, in one order over all senders.
 * 3. `capacity`: free slots of organization, host, and of partner and organization at the host. Equal shares of those
 *    that wait: a newcomer finds everything held for 30 s.
 * 4. `bound`: the requests that each partner may start in this process.
 * 5. `free`: webhooks that may send, each with a random rank in its organization.
 * 6. `found`: their due deliveries, first attempts before retries but for one slot of the oldest retry; of an ordered
 *    webhook its head alone. In due order over all webhooks, one that hangs with 30 % of the events delayed the others:
 *    753 of 8,400 delivered in time, by webhook all of them. A sequence column for ordered webhooks: its index would be
 *    written with each claim.
 * 7. `candidates` to `of_hosts`: ranks within each of these slots (`withinSlots`).
 * 8. `picked`: at most `most` of them.
 * 9. `claimed`: the lease, which is the fence of this sender. FOR UPDATE SKIP LOCKED without the lock of claims: two
 *    claims count the same free slots.
 * 10. `interrupted`: the attempt of a sender whose lease expired.
 * 11. The answer: the body of an event once, however many of its deliveries were claimed, and the keys without a slot.
 *    A body per delivery: 600 bytes × 256.
 */
const claimed = sql`
  ${queuedWebhooks()}, ${webhookCapacity}, ${partnerCapacity},
  free AS MATERIALIZED (
    SELECT *, count(*) OVER () AS webhooks, row_number() OVER (PARTITION BY org_id ORDER BY random()) AS org_rank
    FROM bound WHERE ${maySend} AND partner_slots > 0
  ),
  -- Organizations round-robin, one webhook of each, until there are enough rows to choose from.
  found AS MATERIALIZED (
    SELECT f.org_id, f.partner_id, f.org_slots, f.partner_slots, f.host, f.host_slots, f.partner_host_slots,
           f.org_host_slots, f.generation, c.*
    FROM (SELECT * FROM free ORDER BY org_rank, random()) AS f CROSS JOIN LATERAL (
      SELECT both_kinds.* FROM (
        (SELECT q.delivery_id, q.attempt, q.leased, row_number() OVER (ORDER BY q.due_at) AS position
         FROM webhook_queue q
         WHERE NOT f.ordered AND q.webhook_id = f.id AND NOT q.is_retry AND q.due_at <= statement_timestamp()
         ORDER BY q.due_at LIMIT least(f.slots, greatest(2, 2 * (SELECT most FROM limits) / f.webhooks)))
        UNION ALL
        (SELECT q.delivery_id, q.attempt, q.leased,
                CASE WHEN row_number() OVER (ORDER BY q.due_at) = 1 THEN 0
                     ELSE 1000 + row_number() OVER (ORDER BY q.due_at) END AS position
         FROM webhook_queue q
         WHERE NOT f.ordered AND q.webhook_id = f.id AND q.is_retry AND q.due_at <= statement_timestamp()
         ORDER BY q.due_at LIMIT least(f.slots, greatest(2, 2 * (SELECT most FROM limits) / f.webhooks)))
        UNION ALL
        -- Ordered: the started one, else the oldest; nothing while that one waits for its retry.
        (SELECT head.delivery_id, head.attempt, head.leased, 1
         FROM (
           SELECT started.* FROM (
             (SELECT q.delivery_id, q.attempt, q.leased, q.due_at, 1 AS rank FROM webhook_queue q
              WHERE q.webhook_id = f.id AND q.leased ORDER BY q.due_at LIMIT 1)
             UNION ALL
             (SELECT q.delivery_id, q.attempt, q.leased, q.due_at, 2 FROM webhook_queue q
              WHERE q.webhook_id = f.id AND q.is_retry AND NOT q.leased ORDER BY q.due_at LIMIT 1)
             UNION ALL
             (SELECT q.delivery_id, q.attempt, q.leased, q.due_at, 3 FROM webhook_queue q
              WHERE q.webhook_id = f.id AND NOT q.is_retry AND NOT q.leased ORDER BY q.due_at LIMIT 1)
           ) AS started ORDER BY rank LIMIT 1
         ) AS head
         WHERE f.ordered AND head.due_at <= statement_timestamp())
      ) AS both_kinds
      ORDER BY position LIMIT least(f.slots, greatest(2, 2 * (SELECT most FROM limits) / f.webhooks))
    ) AS c
    LIMIT 2 * (SELECT most FROM limits)
  ),
  ${withinSlots(sql`position, random()`)},
  claimed AS (
    UPDATE webhook_queue q
    SET due_at = statement_timestamp() + (SELECT lease_ms FROM limits) * interval '1 millisecond', leased = true,
        attempt = q.attempt + 1, interruptions = q.interruptions + p.leased::int,
        failures = q.failures + (p.leased AND q.interruptions > 0)::int
    FROM picked p
    WHERE q.delivery_id = p.delivery_id AND q.attempt = p.attempt AND q.due_at <= statement_timestamp()
    RETURNING q.delivery_id, q.created_at, q.webhook_id, q.org_id, q.partner_id, q.event_id, p.host, q.attempt, q.failures,
              q.interruptions, p.leased AS was_leased, p.generation
  ), interrupted AS (
    INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at, interrupted, error_code,
                                  error_message)
    SELECT delivery_id, created_at, attempt - 1, org_id, partner_id, statement_timestamp(), true, 'interrupted',
           'Interrupted, outcome unknown'
    FROM claimed WHERE was_leased AND ${isDayKept(sql`created_at`)}
    ON CONFLICT DO NOTHING
  )
  -- The body of an event comes once, however many of its deliveries were claimed; so does what is blocked.
  SELECT c.*, e.type, e.body, e.traceparent, e.posted_by AS poster,
         CASE WHEN c.ordinal IS NULL OR c.ordinal = 1 THEN (
           SELECT array_agg(DISTINCT each.key)
           FROM bound AS k
           CROSS JOIN LATERAL (
             VALUES (k.slots, k.id::text), (k.org_slots, k.org_id::text), (k.partner_slots, k.partner_id::text),
                    (least(k.host_slots, k.partner_host_slots, k.org_host_slots), k.host)
           ) AS each (slots, key)
           WHERE k.may_send AND each.slots <= 0
         ) END AS blocked
  FROM (VALUES (1)) AS always
  LEFT JOIN (
    SELECT *, row_number() OVER (PARTITION BY org_id, event_id, created_at) = 1 AS is_first,
           row_number() OVER () AS ordinal
    FROM claimed
  ) AS c ON true
  LEFT JOIN LATERAL (
    SELECT e.type, e.body, e.traceparent, e.posted_by FROM webhook_events e
    WHERE c.is_first AND e.org_id = c.org_id AND e.id = c.event_id AND e.occurred_at = c.created_at
    -- Each is fetched by its key: the planner would read all, take them for one row, and compare each with each.
    OFFSET 0
  ) AS e ON true`;

/**
 * Leases due deliveries: a few per active webhook with free slots (first attempts before retries, one slot for the
 * oldest retry), at most the share of each partner, organization and host, webhooks in random order. An expired lease
 * adds its sender's attempt to the timeline, unless that sender stored an outcome. Committed when it resolves.
 * `blocked` names the webhooks, organizations, partners and hosts (ids and names) with queued deliveries but without
 * a free slot.
 */
export async function claimDue(
  db: Database,
  { most, leaseMs, partners, ...concurrency }: ClaimLimits,
): Promise<{ leases: { claim: Claimed; payload: Payload | null }[]; blocked: readonly string[] }> {
  const { rooms, otherRoom } = partners;
  // The planner assumes that hardly any row meets a condition of row-level security, and would sort all rows of an
  // webhook (1,500 for each of 200 webhooks) instead of reading the first two of an index. JIT compilation never pays
  // here, despite the planner's estimate.
  const alone = sql`
    SELECT pg_advisory_xact_lock(${claimLock}::bigint), set_config('enable_bitmapscan', 'off', true),
           set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`;
  const due = sql`
    WITH RECURSIVE limits AS MATERIALIZED (
      SELECT ${concurrency.webhookConcurrency}::int AS webhook, ${concurrency.organizationConcurrency}::int AS organization,
             ${concurrency.hostConcurrency}::int AS host, ${most}::int AS most, ${leaseMs}::int AS lease_ms,
             ${otherRoom}::int AS other_room
    ),
    partner_rooms AS MATERIALIZED (
      SELECT * FROM unnest(${plainArray([...rooms.keys()])}::uuid[], ${plainArray([...rooms.values()])}::int[]) AS p (id, room)
    ), ${claimed}`;
  const claim = (tx: Tx) => Promise.all([tx.query(alone), tx.query<ClaimedRow>(due)]);
  const [, rows] = await db.inOneBatch(system, claim);
  const claims = rows.filter((row) => row.delivery_id !== null);
  const bodies = new Map<string, Payload>();
  for (const row of claims) {
    const { type, body, traceparent, poster } = row;
    if (row.is_first && body !== null) bodies.set(keyOf(row), { type, body, traceparent, poster });
  }
  const leases = claims.map((claim) => ({ claim, payload: bodies.get(keyOf(claim)) ?? null }));
  return { leases, blocked: rows.find(({ blocked }) => blocked !== null)?.blocked ?? [] };
}

/**
 * Milliseconds until a delivery of an active webhook or the end of an open breaker may be due, at most `most`; reads
 * only.
 */
export async function nextDueMs(tx: Tx, most: number): Promise<number> {
  const [, [row]] = await Promise.all([
    byIndexAlone(tx),
    tx.query<{ ms: number | null }>(sql`
      WITH RECURSIVE ${queuedWebhooks(most)}
      SELECT extract(epoch FROM least(
               min(greatest(d.due_at, s.open_until)),
               (SELECT min(open_until) FROM webhook_endpoint_state WHERE open_until > statement_timestamp())
             ) - statement_timestamp())::float8 * 1000 AS ms
      FROM ${webhooksOfQueue}
      CROSS JOIN LATERAL (
        (SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = w.id AND NOT q.is_retry ORDER BY q.due_at LIMIT 1)
        UNION ALL
        (SELECT q.due_at FROM webhook_queue q WHERE q.webhook_id = w.id AND q.is_retry ORDER BY q.due_at LIMIT 1)
      ) AS d
      WHERE w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL`),
  ]);
  return Math.min(most, Math.max(0, row?.ms ?? most));
}
