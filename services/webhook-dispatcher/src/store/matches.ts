import { plainArray, sql, type Tx } from "@muster/db";
import { deliveryId } from "../rules/envelope.ts";
import type { EventFilter } from "../rules/event-filter.ts";
import type { IntakeEvent } from "../rules/intake.ts";
import { matchesType, subscribes } from "../rules/subscription.ts";

/** `seq` is its position in the stream; 0 where that does not matter. */
export type MatchedEvent = IntakeEvent & { seq: number };
export type Subscriber = {
  id: string;
  org_id: string;
  partner_id: string;
  events: string[];
  filter: EventFilter | null;
  ordered: boolean;
};

/**
 * Active webhooks of these organizations. Read in each batch, so that a webhook just made, paused or changed counts at
 * once.
 */
export function subscribersOf(tx: Tx, orgIds: readonly string[]): Promise<Subscriber[]> {
  return tx.query<Subscriber>(sql`
    SELECT id, org_id, partner_id, events, filter, ordered FROM webhooks
    WHERE org_id = ANY (${plainArray(orgIds)}::uuid[]) AND status = 'active' AND deleted_at IS NULL AND stopped_at IS NULL`);
}

/** Whether any of these webhooks subscribes to an event. */
export function wantedBy(subscribers: readonly Subscriber[]): (event: MatchedEvent) => boolean {
  const eventsOf = new Map<string, string[][]>();
  for (const { org_id: orgId, events } of subscribers) eventsOf.set(orgId, [...(eventsOf.get(orgId) ?? []), events]);
  return ({ orgId, type }) => (eventsOf.get(orgId) ?? []).some((events) => matchesType(events, type));
}

/**
 * Stores payload, deliveries and queue rows of the events that were not seen before; returns the number of deliveries.
 * Of organizations in `keeping`, with their partner, the payload of an event without a subscriber is stored, too.
 * The last statements are not awaited, so that COMMIT is sent together with them and reports their failure.
 */
export async function storeMatches(
  tx: Tx,
  events: readonly MatchedEvent[],
  subscribers: readonly Subscriber[],
  keeping: ReadonlyMap<string, string>,
): Promise<number> {
  const byOrg = new Map<string, Subscriber[]>();
  for (const each of subscribers) byOrg.set(each.org_id, [...(byOrg.get(each.org_id) ?? []), each]);
  // Of repeats within the batch the first one counts.
  const once = new Map<string, MatchedEvent>();
  for (const event of events) if (!once.has(keyOf(event))) once.set(keyOf(event), event);
  const matched = [...once.values()]
    .map((event, position) => ({
      event,
      position,
      hooks: (byOrg.get(event.orgId) ?? []).filter((hook) => subscribes(hook, event)),
    }))
    .filter(({ event, hooks }) => hooks.length > 0 || keeping.has(event.orgId))
    // A fixed lock order: two matchers with the same events never deadlock.
    .sort((a, b) => (`${a.event.orgId}/${a.event.id}` < `${b.event.orgId}/${b.event.id}` ? -1 : 1));
  if (matched.length === 0) return 0;
  const fresh = await tx.query<{ org_id: string; event_id: string }>(sql`
    INSERT INTO webhook_event_keys (org_id, event_id, occurred_at)
    SELECT * FROM unnest(${plainArray(matched.map(({ event }) => event.orgId))}::uuid[], ${plainArray(matched.map(({ event }) => event.id))}::uuid[],
                         ${plainArray(matched.map(({ event }) => event.occurredAt))}::timestamptz[])
    ON CONFLICT DO NOTHING RETURNING org_id, event_id`);
  const isFresh = new Set(fresh.map((row) => `${row.org_id}/${row.event_id}`));
  const stored = matched.filter(({ event }) => isFresh.has(`${event.orgId}/${event.id}`));
  if (stored.length === 0) return 0;
  const deliveries = stored.flatMap(({ event, hooks, position }) =>
    hooks.map((hook) => ({ id: deliveryId(hook.id, event.orgId, event.id), hook, event, position })),
  );
  const column = <T>(of: (delivery: (typeof deliveries)[number]) => T) => deliveries.map(of);
  const ids = column(({ id }) => id);
  const hookIds = column(({ hook }) => hook.id);
  const orgIds = column(({ event }) => event.orgId);
  const partnerIds = column(({ hook }) => hook.partner_id);
  const eventIds = column(({ event }) => event.id);
  const times = column(({ event }) => event.occurredAt);
  const inserted = Promise.all([
    tx.execute(sql`
      INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, traceparent, posted_by)
      SELECT * FROM unnest(${plainArray(stored.map(({ event }) => event.orgId))}::uuid[], ${plainArray(stored.map(({ event }) => event.id))}::uuid[],
                           ${plainArray(stored.map(({ event }) => event.occurredAt))}::timestamptz[],
                           ${plainArray(stored.map(({ event, hooks }) => hooks[0]?.partner_id ?? keeping.get(event.orgId) ?? null))}::uuid[],
                           ${stored.map(({ event }) => event.type)}::text[], ${stored.map(({ event }) => event.body)}::text[],
                           ${stored.map(({ event }) => event.traceparent ?? null)}::text[], ${stored.map(({ event }) => event.poster)}::text[])`),
    tx.execute(sql`
      INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, next_attempt_at)
      SELECT *, statement_timestamp()
      FROM unnest(${plainArray(ids)}::uuid[], ${plainArray(times)}::timestamptz[], ${plainArray(hookIds)}::uuid[], ${plainArray(orgIds)}::uuid[], ${plainArray(partnerIds)}::uuid[],
                  ${plainArray(eventIds)}::uuid[], ${column(({ event }) => event.type)}::text[])`),
    tx.execute(sql`
      INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
      -- A microsecond apart, in the order of the stream: ordered webhooks follow it.
      SELECT id, at, hook, org, partner, event, statement_timestamp() + position * interval '1 microsecond'
      FROM unnest(${plainArray(ids)}::uuid[], ${plainArray(times)}::timestamptz[], ${plainArray(hookIds)}::uuid[], ${plainArray(orgIds)}::uuid[], ${plainArray(partnerIds)}::uuid[],
                  ${plainArray(eventIds)}::uuid[], ${plainArray(column(({ position }) => position))}::int[]) AS x (id, at, hook, org, partner, event, position)`),
  ]);
  inserted.catch(() => undefined);
  return deliveries.length;
}

const keyOf = ({ orgId, id }: MatchedEvent) => `${orgId}/${id}`;
