import { plainArray, sql, type Tx } from "@muster/db";
import type {
  IntakeDelivery,
  IntakeEvent,
  IntakeHook,
  IntakeOrganization,
  IntakePlan,
  KeptEvent,
} from "../rules/intake.ts";
import { webhooksOfOrganization } from "./webhooks.ts";

export type IntakeState = {
  organizations: Map<string, IntakeOrganization>;
  hooks: IntakeHook[];
};

/** The leased slots of a webhook `w` and their most, whether its breaker is closed, and whether a delivery is due. */
const slotsOf = (webhookConcurrency: number) => sql`
  SELECT (SELECT count(*)::int FROM webhook_queue q
          WHERE q.webhook_id = w.id AND q.leased AND q.due_at > statement_timestamp()) AS leased,
         least(e.slots, ${webhookConcurrency}::int) AS slots,
         e.open_until IS NULL OR e.open_until <= statement_timestamp() AS closed,
         EXISTS (SELECT FROM webhook_queue q
                 WHERE q.webhook_id = w.id AND NOT q.is_retry AND q.due_at <= statement_timestamp())
         OR EXISTS (SELECT FROM webhook_queue q
                    WHERE q.webhook_id = w.id AND q.is_retry AND q.due_at <= statement_timestamp()) AS waits
  FROM webhook_endpoint_state e WHERE e.webhook_id = w.id`;
/** Where nothing is leased; in a burst the queue's index entries of thousands of sent deliveries would be read. */
const nothingLeased = sql`SELECT 0 AS leased, 1 AS slots, true AS closed, false AS waits`;

/**
 * Organizations and their active webhooks. With `leasing`, the most slots of a webhook, also the leased slots; the
 * webhooks of organizations that are `held` are locked then until the end of this transaction: a concurrent change
 * waits for it, or was first, in which case the lock is skipped. Plans are generic: else the planner would plan each
 * batch anew.
 */
export async function readIntake(tx: Tx, orgIds: readonly string[], leasing: number | null): Promise<IntakeState> {
  const orgs = plainArray(orgIds);
  // Three statements in one pipelined round trip; the second sees everything committed before the locks were taken.
  const [[locks], hooks, organizations] = await Promise.all([
    tx.query<{ held: string[] }>(sql`
      SELECT ARRAY(SELECT o::text FROM unnest(${orgs}::uuid[]) AS o
                   WHERE ${leasing !== null} AND pg_try_advisory_xact_lock_shared(hashtextextended(o::text, ${webhooksOfOrganization}::bigint))) AS held,
             set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_bitmapscan', 'off', true),
             set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`),
    tx.query<IntakeHook>(sql`
      SELECT w.id, w.org_id, w.partner_id, w.host, w.events, w.filter, w.ordered, w.generation, s.*
      FROM webhooks w CROSS JOIN LATERAL (${leasing === null ? nothingLeased : slotsOf(leasing)}) AS s
      WHERE w.org_id = ANY (${orgs}::uuid[]) AND w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL`),
    tx.query<Omit<IntakeOrganization, "held">>(sql`
      SELECT o.id AS "orgId", coalesce(t.partner_id::text, k.partner_id::text, '') AS "partnerId", t.id IS NOT NULL AS exists,
             EXISTS (SELECT FROM webhook_backlog b WHERE b.org_id = o.id) AS backlogged, k.org_id IS NOT NULL AS keeps
      FROM unnest(${orgs}::uuid[]) AS o (id)
      LEFT JOIN tenant t ON t.kind = 'organization' AND t.id = o.id AND NOT t.deleted
      LEFT JOIN webhook_organizations k ON k.org_id = o.id`),
  ]);
  const held = new Set(locks?.held);
  const entryOf = (each: (typeof organizations)[number]) =>
    [each.orgId, { ...each, held: each.exists && held.has(each.orgId) }] as const;
  return { organizations: new Map(organizations.map(entryOf)), hooks };
}

export type StoredDelivery = { delivery_id: string; leased: boolean };

/** Second key of the advisory locks under which deliveries of an organization are leased as they are stored. */
const leasesOfOrganization = 7_166_340_219;

/** Rows of unnest for the events of deliveries and those kept, and for the deliveries, with their event's position. */
function columnsOf(deliveries: readonly IntakeDelivery[], kept: readonly KeptEvent[]) {
  const delivered = deliveries.map(({ event, hook }) => [event, hook.partner_id] as const);
  const events = [
    ...new Map([...delivered, ...kept.map(({ event, partnerId }) => [event, partnerId] as const)]).entries(),
  ];
  const positionOf = new Map(events.map(([event], index) => [event, index + 1]));
  return {
    event: <T>(of: (event: IntakeEvent, partnerId: string) => T) => events.map(([event, id]) => of(event, id)),
    delivery: <T>(of: (delivery: IntakeDelivery, position: number) => T) =>
      deliveries.map((delivery) => of(delivery, positionOf.get(delivery.event) ?? 0)),
  };
}

/**
 * Stores events that were not seen before, their deliveries and queue rows, those to be sent inline leased for
 * `leaseMs` as far as their webhooks still have slots; returns the stored deliveries. Its statements leave together
 * with COMMIT, so that other processes wait for its locks only while the server works.
 */
export async function storeIntake(
  tx: Tx,
  { deliveries, kept }: Pick<IntakePlan, "deliveries" | "kept">,
  leaseMs: number,
): Promise<StoredDelivery[]> {
  const { event, delivery } = columnsOf(deliveries, kept);
  const leasing = new Set(deliveries.filter(({ lease }) => lease).map(({ hook }) => hook.org_id));
  // Another process may have leased deliveries of the same webhooks since these were read: the next statement counts
  // the leases again. Its plan serves any number of rows.
  const alone = tx.execute(sql`
      SELECT set_config('enable_nestloop', 'off', true),
             (SELECT count(pg_advisory_xact_lock(hashtextextended(o::text, ${leasesOfOrganization}::bigint)))
              FROM unnest(${plainArray([...leasing].sort())}::uuid[]) AS o)`);
  const stored = tx.query<StoredDelivery>(sql`
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(${plainArray(event(({ orgId }) => orgId))}::uuid[], ${plainArray(event(({ id }) => id))}::uuid[],
                           ${plainArray(event(({ occurredAt }) => occurredAt))}::timestamptz[], ${plainArray(event((_, partnerId) => partnerId))}::uuid[],
                           ${event(({ type }) => type)}::text[], ${event(({ body }) => body)}::text[],
                           ${event(({ traceparent }) => traceparent ?? null)}::text[], ${event(({ poster }) => poster)}::text[])
        WITH ORDINALITY AS g (org_id, id, at, partner_id, type, body, traceparent, posted_by, position)
    ), fresh AS (
      -- A fixed lock order: two processes with the same events never deadlock.
      INSERT INTO webhook_event_keys (org_id, event_id, occurred_at) SELECT org_id, id, at FROM given ORDER BY org_id, id
      ON CONFLICT DO NOTHING RETURNING org_id, event_id
    ), new AS MATERIALIZED (
      SELECT g.* FROM given g WHERE (g.org_id, g.id) IN (SELECT f.org_id, f.event_id FROM fresh f)
    ), payloads AS (
      INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, traceparent, posted_by)
      SELECT org_id, id, at, partner_id, type, body, traceparent, posted_by FROM new
    ), due AS MATERIALIZED (
      SELECT d.id, d.webhook_id, n.id AS event_id, n.org_id, n.at, n.partner_id, n.type, n.position,
             d.lease AND row_number() OVER (PARTITION BY d.webhook_id, d.lease ORDER BY d.position) <= d.slots - busy.n AS leased
      FROM unnest(${plainArray(delivery(({ id }) => id))}::uuid[],
                  ${plainArray(delivery((_, position) => position))}::bigint[], ${plainArray(delivery(({ hook }) => hook.id))}::uuid[],
                  ${plainArray(delivery(({ lease }) => lease))}::boolean[], ${plainArray(delivery(({ hook }) => hook.slots))}::int[])
        AS d (id, position, webhook_id, lease, slots)
      JOIN new n ON n.position = d.position
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS n FROM webhook_queue q
        WHERE d.lease AND q.webhook_id = d.webhook_id AND q.leased AND q.due_at > statement_timestamp()
      ) AS busy
    ), listed AS (
      INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, next_attempt_at)
      SELECT id, at, webhook_id, org_id, partner_id, event_id, type, statement_timestamp() FROM due
    ), queued AS (
      INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at, leased, attempt)
      -- A microsecond apart: ordered webhooks follow the order of the events.
      SELECT id, at, webhook_id, org_id, partner_id, event_id,
             statement_timestamp() + CASE WHEN leased THEN ${leaseMs}::int * interval '1 millisecond'
                                          ELSE position * interval '1 microsecond' END, leased, leased::int
      FROM due
    )
    SELECT id AS delivery_id, leased FROM due`);
  const [, rows] = await Promise.all([alone, stored]);
  return rows;
}

/**
 * Of leased deliveries whose requests have not started, returns those of unchanged webhooks; the others are requeued,
 * as if never leased.
 */
export async function confirmLeases(
  tx: Tx,
  leases: readonly { delivery_id: string; webhook_id: string; generation: number }[],
): Promise<Set<string>> {
  const requeued = await tx.query<{ id: string }>(sql`
    UPDATE webhook_queue q SET leased = false, attempt = 0, due_at = statement_timestamp()
    FROM unnest(${plainArray(leases.map((each) => each.delivery_id))}::uuid[], ${plainArray(leases.map((each) => each.generation))}::bigint[])
      AS l (id, generation)
    WHERE q.delivery_id = l.id AND q.leased AND q.attempt = 1 AND NOT EXISTS (
      SELECT FROM webhooks w
      WHERE w.id = q.webhook_id AND w.generation = l.generation AND w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL)
    RETURNING q.delivery_id AS id`);
  const confirmed = new Set(leases.map((each) => each.delivery_id));
  for (const { id } of requeued) confirmed.delete(id);
  return confirmed;
}
