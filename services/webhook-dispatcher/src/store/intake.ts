import { plainArray, sql, type Tx } from "@muster/db";
import type { IntakeDelivery, IntakeEvent, IntakeHook, IntakePlace } from "../rules/intake.ts";
import { webhooksOfOrganization } from "./webhooks.ts";

export type IntakeState = {
  places: Map<string, IntakePlace>;
  hooks: IntakeHook[];
};

/** Columns of a webhook `w` and its state `s`: its breaker lets requests through; a delivery of it is due. */
export const closedAndWaits = sql`
             s.open_until IS NULL OR s.open_until <= statement_timestamp() AS closed,
             EXISTS (SELECT FROM webhook_queue q
                     WHERE q.webhook_id = w.id AND NOT q.is_retry AND q.due_at <= statement_timestamp())
             OR EXISTS (SELECT FROM webhook_queue q
                        WHERE q.webhook_id = w.id AND q.is_retry AND q.due_at <= statement_timestamp()) AS waits`;

/**
 * Organizations, their active webhooks and leased places. The webhooks of organizations that are `held` are locked
 * until the end of this transaction: a concurrent change waits for it, or was first, in which case the lock is skipped.
 */
export async function readIntake(tx: Tx, orgIds: readonly string[], endpointSlots: number): Promise<IntakeState> {
  const orgs = plainArray(orgIds);
  // Three statements in one flight; the second sees whatever was committed before the locks were there.
  const [[locks], hooks, places] = await Promise.all([
    tx.query<{ held: string[] }>(sql`
      SELECT ARRAY(SELECT o::text FROM unnest(${orgs}::uuid[]) AS o
                   WHERE pg_try_advisory_xact_lock_shared(hashtextextended(o::text, ${webhooksOfOrganization}::bigint))) AS held,
             set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`),
    tx.query<IntakeHook>(sql`
      SELECT w.id, w.org_id, w.partner_id, w.host, w.events, w.ordered, w.generation, w.xmin::text AS version, l.leased,
             least(s.slots, ${endpointSlots}::int) AS slots,
             ${closedAndWaits}
      FROM webhooks w
      JOIN webhook_endpoint_state s ON s.webhook_id = w.id
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS leased FROM webhook_queue q
        WHERE q.webhook_id = w.id AND q.leased AND q.due_at > statement_timestamp()
      ) AS l
      WHERE w.org_id = ANY (${orgs}::uuid[]) AND w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL`),
    tx.query<{ id: string; partner_id: string; behind: boolean }>(sql`
      SELECT t.id, t.partner_id, EXISTS (SELECT FROM webhook_backlog b WHERE b.org_id = t.id) AS behind
      FROM tenant t WHERE t.kind = 'organization' AND t.id = ANY (${orgs}::uuid[]) AND NOT t.deleted`),
  ]);
  const held = new Set(locks?.held);
  const placeOf = ({ id, partner_id: partnerId, behind }: (typeof places)[number]) =>
    [id, { orgId: id, partnerId, held: held.has(id), behind }] as const;
  return { places: new Map(places.map(placeOf)), hooks };
}

export type StoredDelivery = { delivery_id: string; leased: boolean };

/** Second key of the advisory locks under which deliveries of an organization are leased as they are stored. */
export const leasesOfOrganization = 7_166_340_219;

/** The organizations of which deliveries are to be leased, in the order in which they are locked. */
export const leasingOf = (deliveries: readonly IntakeDelivery[]): string[] =>
  [...new Set(deliveries.filter(({ lease }) => lease).map(({ hook }) => hook.org_id))].sort();

/** Rows of unnest for the events of deliveries, and for the deliveries, which name the place of their event. */
export function columnsOf(deliveries: readonly IntakeDelivery[]) {
  const events = [...new Map(deliveries.map(({ event, hook }) => [event, hook.partner_id])).entries()]
    // A fixed lock order: two processes with the same events never deadlock.
    .sort(([a], [b]) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const placeOf = new Map(events.map(([event], index) => [event, index + 1]));
  return {
    event: <T>(of: (event: IntakeEvent, partnerId: string) => T) => events.map(([event, id]) => of(event, id)),
    delivery: <T>(of: (delivery: IntakeDelivery, place: number) => T) =>
      deliveries.map((delivery) => of(delivery, placeOf.get(delivery.event) ?? 0)),
  };
}

/** For WITH: of the events `given`, the keys and payloads of those that were not seen before (`new`). */
export const newEvents = sql`
    fresh AS (
      INSERT INTO webhook_event_keys (org_id, event_id, occurred_at) SELECT org_id, id, at FROM given ORDER BY place
      ON CONFLICT DO NOTHING RETURNING org_id, event_id
    ), new AS MATERIALIZED (
      SELECT g.* FROM given g WHERE (g.org_id, g.id) IN (SELECT f.org_id, f.event_id FROM fresh f)
    ), payloads AS (
      INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, traceparent, posted_by)
      SELECT org_id, id, at, partner_id, type, body, traceparent, posted_by FROM new
    )`;

/** For WITH: the deliveries `due` with their queue rows, those to be sent at once leased for `lease_ms`. */
export const dueRows = sql`
    listed AS (
      INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, next_attempt_at)
      SELECT id, at, webhook_id, org_id, partner_id, event_id, type, statement_timestamp() FROM due
    ), queued AS (
      INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at, leased, attempt)
      SELECT id, at, webhook_id, org_id, partner_id, event_id,
             statement_timestamp() + CASE WHEN leased THEN lease_ms ELSE 0 END * interval '1 millisecond', leased, leased::int
      FROM due
    )`;

/**
 * Stores events that were not seen before, their deliveries and queue rows, those to be sent at once leased for
 * `leaseMs` as far as their webhooks still have slots; returns what was stored. Its statements leave together with
 * COMMIT, so that other processes wait for its locks only while the server works.
 */
export async function storeIntake(
  tx: Tx,
  deliveries: readonly IntakeDelivery[],
  leaseMs: number,
): Promise<StoredDelivery[]> {
  const { event, delivery } = columnsOf(deliveries);
  const leasing = leasingOf(deliveries);
  // Another process may have leased deliveries of the same webhooks since these were read: the next statement counts
  // again what is leased.
  const alone =
    leasing.length > 0 &&
    tx.execute(sql`
      SELECT pg_advisory_xact_lock(hashtextextended(o::text, ${leasesOfOrganization}::bigint))
      FROM unnest(${plainArray(leasing)}::uuid[]) AS o`);
  const stored = tx.query<StoredDelivery>(sql`
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(${plainArray(event(({ orgId }) => orgId))}::uuid[], ${plainArray(event(({ id }) => id))}::uuid[],
                           ${plainArray(event(({ occurredAt }) => occurredAt))}::timestamptz[], ${plainArray(event((_, partnerId) => partnerId))}::uuid[],
                           ${event(({ type }) => type)}::text[], ${event(({ body }) => body)}::text[],
                           ${event(({ traceparent }) => traceparent ?? null)}::text[], ${event(({ poster }) => poster)}::text[])
        WITH ORDINALITY AS g (org_id, id, at, partner_id, type, body, traceparent, posted_by, place)
    ), ${newEvents}, due AS MATERIALIZED (
      SELECT d.id, d.webhook_id, n.id AS event_id, n.org_id, n.at, n.partner_id, n.type, ${leaseMs}::int AS lease_ms,
             d.lease AND row_number() OVER (PARTITION BY d.webhook_id, d.lease ORDER BY d.place) <= d.slots - busy.n AS leased
      FROM unnest(${plainArray(delivery(({ id }) => id))}::uuid[],
                  ${plainArray(delivery((_, place) => place))}::bigint[], ${plainArray(delivery(({ hook }) => hook.id))}::uuid[],
                  ${plainArray(delivery(({ lease }) => lease))}::boolean[], ${plainArray(delivery(({ hook }) => hook.slots))}::int[])
        AS d (id, place, webhook_id, lease, slots)
      JOIN new n ON n.place = d.place
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS n FROM webhook_queue q
        WHERE d.lease AND q.webhook_id = d.webhook_id AND q.leased AND q.due_at > statement_timestamp()
      ) AS busy
    ), ${dueRows}
    SELECT id AS delivery_id, leased FROM due`);
  const [, rows] = await Promise.all([alone, stored]);
  return rows;
}

/**
 * Of leased deliveries that have not begun, returns those whose webhook has not changed; the others are due again, as
 * if never leased.
 */
export async function confirmLeases(
  tx: Tx,
  leases: readonly { delivery_id: string; webhook_id: string; generation: number }[],
): Promise<Set<string>> {
  const released = await tx.query<{ id: string }>(sql`
    UPDATE webhook_queue q SET leased = false, attempt = 0, due_at = statement_timestamp()
    FROM unnest(${plainArray(leases.map((each) => each.delivery_id))}::uuid[], ${plainArray(leases.map((each) => each.generation))}::bigint[])
      AS l (id, generation)
    WHERE q.delivery_id = l.id AND q.leased AND q.attempt = 1 AND NOT EXISTS (
      SELECT FROM webhooks w
      WHERE w.id = q.webhook_id AND w.generation = l.generation AND w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL)
    RETURNING q.delivery_id AS id`);
  const given = new Set(leases.map((each) => each.delivery_id));
  for (const { id } of released) given.delete(id);
  return given;
}

const keyOf = ({ orgId, id }: IntakeEvent) => `${orgId}/${id}`;
