import { sql } from "@muster/db";
import { ownedBy, type PurgePlan, type PurgeStep, partitionsOf, walked } from "@muster/service";

/**
 * The rows of a tenant: its queue first, so that nothing is sent of a half-deleted tenant; the webhooks with their
 * state and replays last, by their index, because all other rows refer to them. Daily tables are ordered by time, not
 * by organization: they are read from end to end.
 */
export const purgePlan: PurgePlan = async (tx, tenant) => {
  const where = ownedBy(tenant);
  // These two tables have no partner column.
  const organizations =
    tenant.kind === "organization"
      ? where
      : sql`org_id IN (SELECT id FROM tenant WHERE kind = 'organization' AND partner_id = ${tenant.id}::uuid)`;
  // Unreadable events are found by their subject.
  const unreadable =
    tenant.kind === "organization"
      ? sql`subject LIKE ${`events.%.${tenant.id}.%`}`
      : sql`split_part(subject, '.', 3) IN (
          SELECT id::text FROM tenant WHERE kind = 'organization' AND partner_id = ${tenant.id}::uuid)`;
  const whole = (table: string, rows = where): PurgeStep => ({ table, where: rows, walk: walked });
  const days = async (family: string): Promise<PurgeStep[]> =>
    (await partitionsOf(tx, family)).map((table) => ({ table, where, walk: walked, family }));
  return [
    whole("webhook_queue"),
    whole("webhook_backlog", organizations),
    whole("webhook_dead_letters"),
    ...(await days("webhook_attempts")),
    ...(await days("webhook_deliveries")),
    ...(await days("webhook_events")),
    whole("webhook_event_keys", organizations),
    whole("dead_letter", sql`subject LIKE 'events.%' AND ${unreadable}`),
    whole("webhook_organizations"),
    { table: "webhook_event_types", where },
    { table: "webhooks", where },
  ];
};
