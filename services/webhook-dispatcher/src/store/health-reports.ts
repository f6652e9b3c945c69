import { sql, type Tx } from "@muster/db";
import type { HealthStatus } from "@muster/kit";
import type { HealthFacts } from "../rules/health.ts";
import { healthColumns, oldestDue } from "./health.ts";

export type ReportedHealth = HealthFacts & {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  url_shown: string;
  reported: HealthStatus;
  /** ISO times by status. */
  reported_at: Partial<Record<HealthStatus, string>>;
  reminded_hours: number;
  reminded_since: Date | null;
  created_by: string;
  /** Null: who made it. */
  notify_user_ids: string[] | null;
};

/** Whether this process reports changes of health now: one of all processes, until the end of the transaction. */
export async function holdReports(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ held: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended('webhook health', 0)) AS held`,
  );
  return row?.held ?? false;
}

/** Webhooks after `afterId` with what their health follows from, and what was reported of it; `most` at once. */
export function webhooksWithHealth(tx: Tx, afterId: string | null, most: number): Promise<ReportedHealth[]> {
  return tx.query<ReportedHealth>(sql`
    SELECT w.id, w.org_id, w.partner_id, w.name, w.url_shown, w.status, ${healthColumns}, ${oldestDue(sql`w.id`)} AS next_due_at,
           coalesce(h.reported, 'healthy') AS reported, coalesce(h.reported_at, '{}') AS reported_at,
           coalesce(h.reminded_hours, 0) AS reminded_hours, h.reminded_since, w.created_by, w.notify_user_ids
    FROM webhooks w
    JOIN webhook_endpoint_state s ON s.webhook_id = w.id
    LEFT JOIN webhook_health h ON h.webhook_id = w.id
    WHERE w.deleted_at IS NULL AND w.stopped_at IS NULL AND (${afterId}::uuid IS NULL OR w.id > ${afterId}::uuid)
    ORDER BY w.id LIMIT ${most}::int`);
}

/** Notes that an event reports this status of a webhook. */
export async function noteReported(
  tx: Tx,
  { id, org_id: orgId, partner_id: partnerId }: Pick<ReportedHealth, "id" | "org_id" | "partner_id">,
  status: HealthStatus,
  now: Date,
): Promise<void> {
  const at = JSON.stringify({ [status]: now.toISOString() });
  await tx.execute(sql`
    INSERT INTO webhook_health AS h (webhook_id, org_id, partner_id, reported, reported_at)
    VALUES (${id}, ${orgId}, ${partnerId}, ${status}, ${at}::jsonb)
    ON CONFLICT (webhook_id) DO UPDATE SET reported = excluded.reported, reported_at = h.reported_at || excluded.reported_at`);
}

/** Notes that mails tell for how long a webhook fails. */
export async function noteReminded(
  tx: Tx,
  { id, org_id: orgId, partner_id: partnerId, failing_since: since }: ReportedHealth,
  hours: number,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO webhook_health AS h (webhook_id, org_id, partner_id, reminded_hours, reminded_since)
    VALUES (${id}, ${orgId}, ${partnerId}, ${hours}, ${since})
    ON CONFLICT (webhook_id) DO UPDATE
    SET reminded_hours = excluded.reminded_hours, reminded_since = excluded.reminded_since`);
}
