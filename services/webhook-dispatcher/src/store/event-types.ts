import { type Database, sql, type Tx, type Who } from "@muster/db";
import type { EventTypeFields } from "../rules/event-type.ts";

export type EventTypeRow = EventTypeFields & {
  id: string;
  org_id: string;
  partner_id: string;
  type: string;
  revision: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`id, org_id, partner_id, type, description, schema, version, example, archived, revision, created_by, created_at, updated_at`;

type Owner = { orgId: string; partnerId: string; createdBy: string };

/** Inserts a type; null when the organization has it. Its events are stored without a subscriber from now on. */
export async function insertEventType(
  tx: Tx,
  id: string,
  { orgId, partnerId, createdBy }: Owner,
  type: string,
  { description, schema, version, example, archived }: EventTypeFields,
  now: Date,
): Promise<EventTypeRow | null> {
  const [row] = await tx.query<EventTypeRow>(sql`
    INSERT INTO webhook_event_types (id, org_id, partner_id, type, description, schema, version, example, archived, created_by,
                                     created_at, updated_at)
    VALUES (${id}, ${orgId}, ${partnerId}, ${type}, ${description}, ${schema}, ${version}, ${example}, ${archived}, ${createdBy},
            ${now}, ${now})
    ON CONFLICT (org_id, type) DO NOTHING RETURNING ${columns}`);
  if (!row) return null;
  await tx.execute(sql`
    INSERT INTO webhook_organizations (org_id, partner_id) VALUES (${orgId}, ${partnerId}) ON CONFLICT DO NOTHING`);
  return row;
}

/** How many types an organization has; exact after holdOrganization. */
export async function countEventTypes(tx: Tx, orgId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*)::int AS n FROM webhook_event_types WHERE org_id = ${orgId}`,
  );
  return row?.n ?? 0;
}

/** A type of an organization, locked until the end of the transaction; null when there is none. */
export async function lockEventType(tx: Tx, orgId: string, type: string): Promise<EventTypeRow | null> {
  const [row] = await tx.query<EventTypeRow>(
    sql`SELECT ${columns} FROM webhook_event_types WHERE org_id = ${orgId} AND type = ${type} FOR UPDATE`,
  );
  return row ?? null;
}

/** Writes the fields of a locked type. */
export async function updateEventType(
  tx: Tx,
  id: string,
  { description, schema, version, example, archived }: EventTypeFields,
  now: Date,
): Promise<EventTypeRow> {
  const [row] = await tx.query<EventTypeRow>(sql`
    UPDATE webhook_event_types
    SET description = ${description}, schema = ${schema}, version = ${version}, example = ${example}, archived = ${archived},
        revision = revision + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING ${columns}`);
  if (!row) throw new Error("an event type that was locked has gone");
  return row;
}

/** The types of an organization by name (unique index of organization and type). */
export function listEventTypes(db: Database, who: Who, orgId: string): Promise<EventTypeRow[]> {
  return db.read<EventTypeRow>(
    who,
    sql`SELECT ${columns} FROM webhook_event_types WHERE org_id = ${orgId} ORDER BY type`,
  );
}

/** One type of an organization, as events of it are accepted; null when there is none. */
export async function findEventType(db: Database, who: Who, orgId: string, type: string): Promise<EventTypeRow | null> {
  const [row] = await db.read<EventTypeRow>(
    who,
    sql`SELECT ${columns} FROM webhook_event_types WHERE org_id = ${orgId} AND type = ${type}`,
  );
  return row ?? null;
}

/** Those of these types that the organization does not have. */
export async function unknownEventTypes(tx: Tx, orgId: string, types: readonly string[]): Promise<string[]> {
  if (types.length === 0) return [];
  const rows = await tx.query<{ type: string }>(
    sql`SELECT t.type FROM unnest(${[...types]}::text[]) AS t (type)
        WHERE NOT EXISTS (SELECT FROM webhook_event_types e WHERE e.org_id = ${orgId} AND e.type = t.type)`,
  );
  return rows.map(({ type }) => type);
}
