import { type Database, type Query, sql } from "@muster/db";
import { before, conditions, nonEmpty, since } from "@muster/db/builder";
import { type CallContext, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import { deliveryId } from "../rules/envelope.ts";
import type { Poster } from "../rules/poster.ts";

/** An event as it was stored; `created_at` is when it happened. */
export type EventRow = { id: string; org_id: string; created_at: Date; type: string; body: string; poster: Poster };

export type EventFilter = {
  orgId: string;
  type: string | null;
  from: Date | null;
  to: Date | null;
  /** Only the event that happened then, if any did. */
  only: EventKey | null;
};

export type EventKey = { id: string; orgId: string; occurredAt: Date };

const stored = sql`(SELECT e.id, e.org_id, e.partner_id, e.occurred_at AS created_at, e.type, e.body, e.posted_by AS poster
                    FROM webhook_events e WHERE e.listed)`;
const columns = sql`t.id, t.org_id, t.created_at, t.type, t.body, t.poster`;

/** A page of an organization's events, newest first (primary key of webhook_events). */
export function listEvents(
  db: Database,
  who: CallContext,
  { orgId, type, from, to, only }: EventFilter,
  page: Page,
): Promise<ListPage<EventRow>> {
  const where = conditions((rows) =>
    rows
      .where(nonEmpty({ "t.org_id": orgId, "t.type": type }))
      .where(only ? { "t.created_at": only.occurredAt, "t.id": only.id } : {})
      .modify(since, "t.created_at", from)
      .modify(before, "t.created_at", to),
  );
  return readNewestPage(db, who, { table: stored, columns, where }, page);
}

/** One event in the caller's scope, or null. */
export async function findEvent(
  db: Database,
  who: CallContext,
  { id, orgId, occurredAt }: EventKey,
): Promise<EventRow | null> {
  const [row] = await db.read<EventRow>(
    who,
    sql`SELECT ${columns} FROM ${stored} AS t
        WHERE t.org_id = ${orgId} AND t.created_at = ${occurredAt} AND t.id = ${id} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/**
 * The keys of the events with this id in the given organizations, two at most. Read as the system, since no tenant sees
 * this table: only for organizations that the caller reaches.
 */
export async function eventKeys(db: Database, orgIds: readonly string[], id: string): Promise<EventKey[]> {
  const rows = await db.read<{ org_id: string; occurred_at: Date }>(
    { caller: systemCaller("webhook-dispatcher") },
    // By the primary key of each organization.
    sql`SELECT k.org_id, k.occurred_at FROM unnest(${[...orgIds]}::uuid[]) AS o (id)
        JOIN webhook_event_keys k ON k.org_id = o.id AND k.event_id = ${id} LIMIT 2`,
  );
  return rows.map((row) => ({ id, orgId: row.org_id, occurredAt: row.occurred_at }));
}

/** The webhooks of an organization whose deliveries the caller sees. */
export async function webhookIdsOf(db: Database, who: CallContext, orgId: string): Promise<string[]> {
  const isThere = who.caller.scope === "system" ? sql`true` : sql`t.stopped_at IS NULL`;
  const rows = await db.read<{ id: string }>(
    who,
    sql`SELECT t.id FROM webhooks AS t
        WHERE t.org_id = ${orgId} AND t.deleted_at IS NULL AND ${isThere} AND ${visibleTo(who.caller)}`,
  );
  return rows.map(({ id }) => id);
}

/**
 * The deliveries of an event to these webhooks, as a table: those of the event itself by the ids that follow from it,
 * and tests, retries and replays by their index. Without `occurredAt` only the latter.
 */
export function deliveriesOfEvent(
  { id, orgId, occurredAt }: Omit<EventKey, "occurredAt"> & { occurredAt: Date | null },
  webhookIds: readonly string[],
): Query {
  const ids = webhookIds.map((webhookId) => deliveryId(webhookId, orgId, id));
  return sql`(
    SELECT d.* FROM unnest(${ids}::uuid[]) AS k (id)
    CROSS JOIN LATERAL (
      SELECT * FROM webhook_deliveries d WHERE d.id = k.id AND d.created_at = ${occurredAt} OFFSET 0
    ) AS d
    UNION ALL
    SELECT d.* FROM webhook_deliveries d
    WHERE d.event_id = ${id} AND d.origin <> 'event' AND d.webhook_id = ANY (${[...webhookIds]}::uuid[])
  )`;
}
