import { plainArray, sql, type Tx } from "@muster/db";
import type { IntakeDelivery, IntakeEvent, IntakeHook, IntakePlace } from "../rules/intake.ts";
import { webhooksOfOrganization } from "./webhooks.ts";

export type IntakeState = {
  places: Map<string, IntakePlace>;
  hooks: IntakeHook[];
};

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
      SELECT w.id, w.org_id, w.partner_id, w.host, w.events, w.ordered, w.generation, l.leased,
             least(s.slots, ${endpointSlots}::int) AS slots,
             s.open_until IS NULL OR s.open_until <= statement_timestamp() AS closed,
             EXISTS (SELECT FROM webhook_queue q
                     WHERE q.webhook_id = w.id AND NOT q.is_retry AND q.due_at <= statement_timestamp())
             OR EXISTS (SELECT FROM webhook_queue q
                        WHERE q.webhook_id = w.id AND q.is_retry AND q.due_at <= statement_timestamp()) AS waits
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
const leasesOfOrganization = 7_166_340_219;

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
  const events = [...new Map(deliveries.map(({ event, hook }) => [event, hook.partner_id])).entries()]
    // A fixed lock order: two processes with the same events never deadlock.
    .sort(([a], [b]) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const placeOf = new Map(events.map(([event], index) => [event, index + 1]));
  const given = <T>(of: (event: IntakeEvent, partnerId: string) => T) => events.map(([event, id]) => of(event, id));
  const column = <T>(of: (delivery: IntakeDelivery) => T) => deliveries.map(of);
  const leasing = [...new Set(deliveries.filter(({ lease }) => lease).map(({ hook }) => hook.org_id))].sort();
  // Another process may have leased deliveries of the same webhooks since these were read: the next statement counts
  // again what is leased.
  const alone =
    leasing.length > 0 &&
    tx.execute(sql`
      SELECT pg_advisory_xact_lock(hashtextextended(o::text, ${leasesOfOrganization}::bigint))
      FROM unnest(${plainArray(leasing)}::uuid[]) AS o`);
  const stored = tx.query<StoredDelivery>(sql`
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(${plainArray(given(({ orgId }) => orgId))}::uuid[], ${plainArray(given(({ id }) => id))}::uuid[],
                           ${plainArray(given(({ occurredAt }) => occurredAt))}::timestamptz[], ${plainArray(given((_, partnerId) => partnerId))}::uuid[],
                           ${given(({ type }) => type)}::text[], ${given(({ body }) => body)}::text[],
                           ${given(({ traceparent }) => traceparent ?? null)}::text[])
        WITH ORDINALITY AS g (org_id, id, at, partner_id, type, body, traceparent, place)
    ), fresh AS (
      INSERT INTO webhook_event_keys (org_id, event_id, occurred_at) SELECT org_id, id, at FROM given ORDER BY place
      ON CONFLICT DO NOTHING RETURNING org_id, event_id
    ), new AS MATERIALIZED (
      SELECT g.* FROM given g WHERE (g.org_id, g.id) IN (SELECT f.org_id, f.event_id FROM fresh f)
    ), payloads AS (
      INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, traceparent)
      SELECT org_id, id, at, partner_id, type, body, traceparent FROM new
    ), due AS MATERIALIZED (
      SELECT d.id, d.webhook_id, n.id AS event_id, n.org_id, n.at, n.partner_id, n.type,
             d.lease AND row_number() OVER (PARTITION BY d.webhook_id, d.lease ORDER BY d.place) <= d.slots - busy.n AS leased
      FROM unnest(${plainArray(column(({ id }) => id))}::uuid[],
                  ${plainArray(column(({ event }) => placeOf.get(event) ?? 0))}::bigint[], ${plainArray(column(({ hook }) => hook.id))}::uuid[],
                  ${plainArray(column(({ lease }) => lease))}::boolean[], ${plainArray(column(({ hook }) => hook.slots))}::int[])
        AS d (id, place, webhook_id, lease, slots)
      JOIN new n ON n.place = d.place
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS n FROM webhook_queue q
        WHERE d.lease AND q.webhook_id = d.webhook_id AND q.leased AND q.due_at > statement_timestamp()
      ) AS busy
    ), listed AS (
      INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, next_attempt_at)
      SELECT id, at, webhook_id, org_id, partner_id, event_id, type, statement_timestamp() FROM due
    )
    INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at, leased, attempt)
    SELECT id, at, webhook_id, org_id, partner_id, event_id,
           statement_timestamp() + CASE WHEN leased THEN ${leaseMs}::int ELSE 0 END * interval '1 millisecond', leased, leased::int
    FROM due RETURNING delivery_id, leased`);
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
