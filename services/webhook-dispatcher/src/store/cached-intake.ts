import { plainArray, sql, type Tx } from "@muster/db";
import type { IntakeDelivery, KeptEvent } from "../rules/intake.ts";
import {
  closedAndWaits,
  columnsOf,
  dueRows,
  leasesOfOrganization,
  leasingOf,
  newEvents,
  type StoredDelivery,
} from "./intake.ts";
import { webhooksOfOrganization } from "./webhooks.ts";

/** The version of an organization and its webhooks as they were last read (`versionOf`). */
export type OrganizationVersion = { orgId: string; version: string; keeps: boolean };

export type CachedIntake = {
  versions: readonly OrganizationVersion[];
  deliveries: readonly IntakeDelivery[];
  kept: readonly KeptEvent[];
  leaseMs: number;
  webhookConcurrency: number;
  organizationConcurrency: number;
};

export type CachedStored = {
  stored: StoredDelivery[];
  /** Webhooks without a free slot for a delivery that was to be leased. */
  full: Set<string>;
  /** Organizations that had changed: nothing of them was stored. */
  changed: Set<string>;
};

type Row = { org_id: string; is_current: boolean } & (
  | { delivery_id: string; webhook_id: string; leased: boolean; is_full: boolean }
  | { delivery_id: null }
);

/** The webhooks of an organization, each with the version of its row. */
export function versionOf(hooks: readonly { id: string; version: string }[]): string {
  return hooks
    .map(({ id, version }) => `${id}/${version}`)
    .sort()
    .join();
}

/**
 * As readIntake and storeIntake in one pipelined round trip: stores the events of unchanged organizations, and nothing
 * of the others: deleted ones, those with changed webhooks or webhooks being changed, and those with a backlog or all
 * of their share in flight. Deliveries are leased as far as their webhooks have free slots, a closed breaker and
 * nothing due.
 */
export async function storeCached(tx: Tx, intake: CachedIntake): Promise<CachedStored> {
  const { versions, deliveries, kept, leaseMs, webhookConcurrency, organizationConcurrency } = intake;
  const orgs = plainArray(versions.map(({ orgId }) => orgId));
  const { event, delivery } = columnsOf(deliveries, kept);
  // The next statement sees everything committed before these locks were taken.
  const locked = tx.execute(sql`
    SELECT set_config('app.held', (
             SELECT coalesce(string_agg(o::text, ','), '') FROM unnest(${orgs}::uuid[]) AS o
             WHERE pg_try_advisory_xact_lock_shared(hashtextextended(o::text, ${webhooksOfOrganization}::bigint))), true),
           (SELECT count(pg_advisory_xact_lock(hashtextextended(o::text, ${leasesOfOrganization}::bigint)))
            FROM unnest(${plainArray(leasingOf(deliveries))}::uuid[]) AS o),
           set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
           set_config('plan_cache_mode', 'force_generic_plan', true)`);
  const answered = tx.query<Row>(sql`
    WITH hooks AS MATERIALIZED (
      SELECT w.id, w.org_id, w.id::text || '/' || w.version AS version, l.leased,
             least(s.slots, ${webhookConcurrency}::int) AS slots,
             ${closedAndWaits}
      FROM (
        SELECT id, org_id, xmin::text AS version FROM webhooks
        WHERE org_id = ANY (${orgs}::uuid[]) AND status = 'active' AND deleted_at IS NULL AND stopped_at IS NULL
      ) AS w
      JOIN webhook_endpoint_state s ON s.webhook_id = w.id
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS leased FROM webhook_queue q
        WHERE q.webhook_id = w.id AND q.leased AND q.due_at > statement_timestamp()
      ) AS l
    ), organizations AS MATERIALIZED (
      SELECT o.org_id, coalesce(h.leased, 0) AS leased,
             o.org_id::text = ANY (string_to_array(current_setting('app.held'), ','))
             AND o.version = coalesce(h.version, '') AND coalesce(h.leased, 0) < ${organizationConcurrency}::int
             AND EXISTS (SELECT FROM tenant t WHERE t.kind = 'organization' AND t.id = o.org_id AND NOT t.deleted)
             AND NOT EXISTS (SELECT FROM webhook_backlog b WHERE b.org_id = o.org_id)
             -- Its first webhook may have come and gone.
             AND (o.keeps OR NOT EXISTS (SELECT FROM webhook_organizations k WHERE k.org_id = o.org_id)) AS is_current
      FROM unnest(${orgs}::uuid[], ${versions.map(({ version }) => version)}::text[],
                  ${plainArray(versions.map(({ keeps }) => keeps))}::boolean[]) AS o (org_id, version, keeps)
      LEFT JOIN (SELECT org_id, sum(leased)::int AS leased, string_agg(version, ',' ORDER BY id) AS version FROM hooks GROUP BY org_id) AS h
        ON h.org_id = o.org_id
    ), given AS MATERIALIZED (
      SELECT g.* FROM unnest(${plainArray(event(({ orgId }) => orgId))}::uuid[], ${plainArray(event(({ id }) => id))}::uuid[],
                             ${plainArray(event(({ occurredAt }) => occurredAt))}::timestamptz[], ${plainArray(event((_, partnerId) => partnerId))}::uuid[],
                             ${event(({ type }) => type)}::text[], ${event(({ body }) => body)}::text[],
                             ${event(({ traceparent }) => traceparent ?? null)}::text[], ${event(({ poster }) => poster)}::text[])
        WITH ORDINALITY AS g (org_id, id, at, partner_id, type, body, traceparent, posted_by, position)
      WHERE g.org_id IN (SELECT org_id FROM organizations WHERE is_current)
    ), ${newEvents}, ranked AS MATERIALIZED (
      SELECT d.id, d.webhook_id, n.id AS event_id, n.org_id, n.at, n.partner_id, n.type, h.closed, h.waits, d.lease,
             row_number() OVER (PARTITION BY d.webhook_id, d.lease ORDER BY d.position) + h.leased <= h.slots AS has_slot,
             row_number() OVER (PARTITION BY n.org_id, d.lease ORDER BY d.position) + s.leased <= ${organizationConcurrency}::int AS has_share
      FROM unnest(${plainArray(delivery(({ id }) => id))}::uuid[],
                  ${plainArray(delivery((_, position) => position))}::bigint[], ${plainArray(delivery(({ hook }) => hook.id))}::uuid[],
                  ${plainArray(delivery(({ lease }) => lease))}::boolean[])
        AS d (id, position, webhook_id, lease)
      JOIN new n ON n.position = d.position
      JOIN hooks h ON h.id = d.webhook_id
      JOIN organizations s ON s.org_id = n.org_id
    ), due AS MATERIALIZED (
      SELECT *, lease AND closed AND NOT waits AND has_slot AND has_share AS leased, ${leaseMs}::int AS lease_ms FROM ranked
    ), ${dueRows}
    SELECT s.org_id, s.is_current, d.id AS delivery_id, d.webhook_id, d.leased, d.lease AND d.closed AND NOT d.has_slot AS is_full
    FROM organizations s LEFT JOIN due d ON d.org_id = s.org_id`);
  const [, rows] = await Promise.all([locked, answered]);
  return answerOf(rows);
}

function answerOf(rows: readonly Row[]): CachedStored {
  const answer: CachedStored = { stored: [], full: new Set(), changed: new Set() };
  for (const row of rows) {
    if (!row.is_current) answer.changed.add(row.org_id);
    if (row.delivery_id === null) continue;
    answer.stored.push({ delivery_id: row.delivery_id, leased: row.leased });
    if (row.is_full) answer.full.add(row.webhook_id);
  }
  return answer;
}
