import { type Database, type Query, sql, type Tx, type Who } from "@muster/db";
import type { AlertTemplate, CallContext, Caller, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { AlertFields, AlertStatus } from "../rules/alert.ts";
import type { NamedFilter } from "../rules/export-job.ts";

/** Whose rows an alert covers; neither is the platform. */
export type AlertTenant = { orgId: string | null; partnerId: string | null };

export type AlertRow = {
  id: string;
  org_id: string | null;
  partner_id: string | null;
  name: string;
  template: AlertTemplate | null;
  filter: NamedFilter;
  threshold_count: number;
  threshold_minutes: number | null;
  webhook: boolean;
  recipients: string[];
  status: AlertStatus;
  last_error: string | null;
  last_fired_at: Date | null;
  fired: number;
  author_id: string;
  created_at: Date;
  updated_at: Date;
};

export const alertColumns = sql`t.id, t.org_id, t.partner_id, t.name, t.template, t.filter, t.threshold_count,
  t.threshold_minutes, t.webhook, t.recipients, t.status, t.last_error, t.last_fired_at, t.fired, t.author_id,
  t.created_at, t.updated_at`;

/** A page of the alerts that the caller may see, newest first; of one organization when it is named. */
export function listAlerts(
  db: Database,
  who: CallContext,
  orgId: string | null,
  page: Page,
): Promise<ListPage<AlertRow>> {
  const where = orgId === null ? sql`true` : sql`t.org_id = ${orgId}::uuid`;
  const list = { table: sql`audit_alerts`, columns: alertColumns, where, visible: visibleAlerts(who.caller) };
  return readNewestPage<AlertRow>(db, who, list, page);
}

/** The query's own predicate besides row-level security. A deleted organization is inaccessible to its users. */
function visibleAlerts({ scope, orgId, partnerId, orgAccess }: Caller): Query {
  if (scope === "system") return sql`true`;
  const isActive = sql`NOT EXISTS (SELECT FROM tenant x WHERE x.kind = 'organization' AND x.id = t.org_id AND x.deleted)`;
  if (scope === "organization") return sql`t.org_id = ${orgId}::uuid AND ${isActive}`;
  const ofPartner = sql`t.partner_id = ${partnerId}::uuid AND ${isActive}`;
  if (orgAccess.mode === "all") return ofPartner;
  return sql`${ofPartner} AND (t.org_id IS NULL OR t.org_id = ANY (${[...orgAccess.orgIds]}::uuid[]))`;
}

/** One alert that row-level security shows to the caller; null when there is none. */
export async function findAlert(db: Database, who: Who, id: string): Promise<AlertRow | null> {
  const [row] = await db.read<AlertRow>(who, sql`SELECT ${alertColumns} FROM audit_alerts t WHERE t.id = ${id}`);
  return row ?? null;
}

export async function lockAlert(tx: Tx, id: string): Promise<AlertRow | null> {
  const [row] = await tx.query<AlertRow>(sql`SELECT ${alertColumns} FROM audit_alerts t WHERE t.id = ${id} FOR UPDATE`);
  return row ?? null;
}

export type NewAlert = AlertTenant & { id: string; authorId: string; fields: AlertFields };

/** Inserts an active alert; null when the tenant has enough. It covers rows that are sealed from now on. */
export async function insertAlert(tx: Tx, alert: NewAlert, most: number, now: Date): Promise<AlertRow | null> {
  const { id, orgId, partnerId, authorId, fields } = alert;
  const tenant = orgId ?? partnerId ?? "platform";
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`audit alerts ${tenant}`}, 0))`);
  const { count = 1, minutes = null } = fields.threshold ?? {};
  const [row] = await tx.query<AlertRow>(sql`
    INSERT INTO audit_alerts AS t (id, org_id, partner_id, name, template, filter, threshold_count, threshold_minutes,
                                   webhook, recipients, author_id, author_checked_at, created_at, updated_at)
    SELECT ${id}::uuid, ${orgId}::uuid, ${partnerId}::uuid, ${fields.name}, ${fields.template},
           ${JSON.stringify(fields.filter)}::text::jsonb, ${count}::int, ${minutes}::int, ${fields.webhook},
           ${fields.recipients}::uuid[], ${authorId}::uuid, ${now}, ${now}, ${now}
    WHERE (SELECT count(*) FROM audit_alerts o WHERE o.org_id IS NOT DISTINCT FROM ${orgId}::uuid
             AND o.partner_id IS NOT DISTINCT FROM ${partnerId}::uuid) < ${most}::int
    RETURNING ${alertColumns}`);
  if (row) await startCursors(tx, row);
  return row ?? null;
}

/** Waits for the other transactions that make cursors or take them away; held until the end of this one. */
export const lockCursors = (tx: Tx) =>
  tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('audit alert cursors', 0))`);

/**
 * Chains that the alert covers and that none has covered yet begin at their heads; others go on where they stand, and
 * this alert begins there at their heads.
 */
async function startCursors(tx: Tx, { id, org_id: orgId, partner_id: partnerId }: AlertRow): Promise<void> {
  await lockCursors(tx);
  await tx.execute(sql`
    INSERT INTO audit_alert_cursors (chain_id, org_id, partner_id, seq)
    SELECT h.chain_id, h.org_id, h.partner_id, h.seq FROM chain_head h
    WHERE (${orgId}::uuid IS NULL OR h.chain_id = ${orgId}::uuid)
      AND (${partnerId}::uuid IS NULL OR h.partner_id = ${partnerId}::uuid)
    ON CONFLICT DO NOTHING`);
  await tx.execute(sql`
    INSERT INTO audit_alert_starts (chain_id, alert_id, org_id, partner_id, seq)
    SELECT h.chain_id, ${id}::uuid, h.org_id, h.partner_id, h.seq
    FROM chain_head h JOIN audit_alert_cursors c ON c.chain_id = h.chain_id AND c.seq < h.seq
    WHERE (${orgId}::uuid IS NULL OR h.chain_id = ${orgId}::uuid)
      AND (${partnerId}::uuid IS NULL OR h.partner_id = ${partnerId}::uuid)
    ON CONFLICT (chain_id, alert_id) DO UPDATE SET seq = excluded.seq`);
}

/** Writes the fields of a locked alert; it counts anew. A resumed one covers rows that are sealed from now on. */
export async function updateAlert(
  tx: Tx,
  { id, status }: Pick<AlertRow, "id" | "status">,
  alert: AlertFields & { status: AlertStatus; authorId: string },
  now: Date,
): Promise<AlertRow> {
  const { count = 1, minutes = null } = alert.threshold ?? {};
  const [row] = await tx.query<AlertRow>(sql`
    UPDATE audit_alerts AS t
    SET name = ${alert.name}, template = ${alert.template}, filter = ${JSON.stringify(alert.filter)}::text::jsonb,
      threshold_count = ${count}::int, threshold_minutes = ${minutes}::int, webhook = ${alert.webhook},
      recipients = ${alert.recipients}::uuid[], status = ${alert.status}, author_id = ${alert.authorId}::uuid,
      last_error = CASE WHEN t.author_id = ${alert.authorId}::uuid THEN t.last_error END, author_checked_at = ${now},
      updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${alertColumns}`);
  if (!row) throw new Error("an alert that was locked has gone");
  if (row.status === "active" && status !== "active") await startCursors(tx, row);
  return row;
}

export async function removeAlert(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM audit_alerts WHERE id = ${id}`);
}

export const thresholdOf = ({ threshold_count: count, threshold_minutes: minutes }: AlertRow) =>
  minutes === null ? null : { count, minutes };

/** The fields that users set, as audit rows show them. */
export const alertFields = (row: AlertRow): AlertFields => ({
  name: row.name,
  template: row.template,
  filter: row.filter,
  threshold: thresholdOf(row),
  webhook: row.webhook,
  recipients: row.recipients,
});
