import { type Query, sql, type Tx } from "@muster/db";
import { alertFiredType, healthChangedType } from "@muster/kit";
import { dataOf } from "../rules/envelope.ts";
import { type EventFilter, passes } from "../rules/event-filter.ts";
import type { ReplayStatus } from "../rules/replay.ts";

/** What a replay selects, and up to where it has read. */
export type Selection = {
  webhook_id: string;
  org_id: string;
  since: Date;
  until: Date;
  status_filter: ReplayStatus;
  events: string[];
  position_at: Date | null;
  position_id: string | null;
};

/** A delivery, or an event without one, in the order in which a replay reads them: by `created_at` and `id`. */
export type Found = {
  id: string;
  created_at: Date;
  event_id: string;
  event: string;
  /** Null for an event that had no delivery. */
  delivery_id: string | null;
  matches: boolean;
  has_body: boolean;
};

/** The next rows of the selection's time, oldest first, matching or not: that bounds what one statement reads. */
export function nextOf(tx: Tx, selection: Selection, most: number): Promise<Found[]> {
  return selection.status_filter === "missing"
    ? missingOf(tx, selection, most)
    : tx.query<Found>(deliveries(selection, most));
}

/** Events without a delivery that the webhook's types and filter let pass; a filter is applied here, as in matching. */
async function missingOf(tx: Tx, selection: Selection, most: number): Promise<Found[]> {
  const rows = await tx.query<Found & { filter: EventFilter | null; body: string | null }>(missing(selection, most));
  return rows.map(({ filter, body, ...found }) => {
    if (filter === null || body === null || passes(filter, dataOf(body))) return found;
    return { ...found, matches: false, has_body: false };
  });
}

const isOfTypes = (type: Query, events: readonly string[]) =>
  sql`(cardinality(${[...events]}::text[]) = 0 OR ${type} = ANY (${[...events]}::text[]))`;

function deliveries(selection: Selection, most: number): Query {
  const { status_filter: status, position_at: at, position_id: id } = selection;
  const wanted = status === "all" ? ["failed", "delivered"] : [status];
  const after =
    at === null
      ? sql`d.created_at >= ${selection.since}`
      : sql`(d.created_at, d.id) > (${at}::timestamptz, ${id}::uuid)`;
  return sql`
    WITH next AS MATERIALIZED (
      SELECT d.id, d.created_at, d.org_id, d.event_id, d.event,
             d.status = ANY (${wanted}::text[]) AND d.origin <> 'test' AND ${isOfTypes(sql`d.event`, selection.events)} AS matches
      FROM webhook_deliveries d
      WHERE d.webhook_id = ${selection.webhook_id} AND ${after} AND d.created_at < ${selection.until}
      ORDER BY d.created_at, d.id LIMIT ${most}::int
    )
    SELECT n.id, n.created_at, n.event_id, n.event, n.id AS delivery_id, n.matches,
           n.matches AND EXISTS (SELECT FROM webhook_events e
                                 WHERE e.org_id = n.org_id AND e.id = n.event_id AND e.occurred_at = n.created_at) AS has_body
    FROM next n ORDER BY n.created_at, n.id`;
}

/**
 * Events of types to which the webhook subscribes now, of which it has no delivery: neither the event's own, which has
 * its time (index webhook_deliveries_by_webhook), nor one of a replay (index webhook_deliveries_repeats). Reports of
 * health are of their time.
 */
function missing({ webhook_id: webhookId, org_id: orgId, ...selection }: Selection, most: number): Query {
  const { position_at: at, position_id: id } = selection;
  const after =
    at === null
      ? sql`e.occurred_at >= ${selection.since}`
      : sql`(e.occurred_at, e.id) > (${at}::timestamptz, ${id}::uuid)`;
  return sql`
    WITH subscribed AS MATERIALIZED (
      SELECT filter, ARRAY(SELECT e FROM unnest(events) AS e WHERE e NOT LIKE '%*') AS types,
             -- '' of "*" begins every type.
             ARRAY(SELECT left(e, -1) FROM unnest(events) AS e WHERE e LIKE '%*') AS beginnings
      FROM webhooks WHERE id = ${webhookId}
    ), next AS MATERIALIZED (
      SELECT e.id, e.occurred_at, e.type,
             e.listed AND e.type <> ${healthChangedType} AND ${isOfTypes(sql`e.type`, selection.events)}
             AND (SELECT e.type = ANY (s.types) OR e.type <> ${alertFiredType}
                         AND EXISTS (SELECT FROM unnest(s.beginnings) AS b WHERE starts_with(e.type, b))
                  FROM subscribed s) AS wanted
      FROM webhook_events e
      WHERE e.org_id = ${orgId} AND ${after} AND e.occurred_at < ${selection.until}
      ORDER BY e.occurred_at, e.id LIMIT ${most}::int
    ), matched AS MATERIALIZED (
      SELECT n.*, n.wanted
             AND NOT EXISTS (SELECT FROM webhook_deliveries d
                             WHERE d.webhook_id = ${webhookId} AND d.created_at = n.occurred_at AND d.event_id = n.id)
             AND NOT EXISTS (SELECT FROM webhook_deliveries d
                             WHERE d.event_id = n.id AND d.origin <> 'event' AND d.origin <> 'test'
                               AND d.webhook_id = ${webhookId} AND d.created_at >= ${selection.since}) AS matches
      FROM next n
    )
    SELECT m.id, m.occurred_at AS created_at, m.id AS event_id, m.type AS event, NULL::uuid AS delivery_id, m.matches,
           m.matches AS has_body, s.filter,
           CASE WHEN m.matches AND s.filter IS NOT NULL
                THEN (SELECT e.body FROM webhook_events e
                      WHERE e.org_id = ${orgId} AND e.occurred_at = m.occurred_at AND e.id = m.id) END AS body
    FROM matched m CROSS JOIN subscribed s ORDER BY m.occurred_at, m.id`;
}

/** Rows that one count reads: a busy webhook has millions. */
const readMost = 20_000;
const chunk = 1_000;

/** How many events a replay would queue; with `countedUntil`, of those before that time alone. */
export type ReplayCount = { count: number; countedUntil: Date | null };

/** Counts what a replay would queue, each event once; reads only. */
export async function countReplay(tx: Tx, selection: Selection): Promise<ReplayCount> {
  const events = new Set<string>();
  const position = { position_at: selection.position_at, position_id: selection.position_id };
  for (let read = 0; read < readMost; read += chunk) {
    const found = await nextOf(tx, { ...selection, ...position }, chunk);
    for (const each of found) if (each.has_body) events.add(each.event_id);
    const last = found.at(-1);
    if (!last || found.length < chunk) return { count: events.size, countedUntil: null };
    Object.assign(position, { position_at: last.created_at, position_id: last.id });
  }
  return { count: events.size, countedUntil: position.position_at };
}
