import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { filtersOf } from "../rules/alert.ts";
import type { Firing, MatchedRow } from "../rules/alert-firing.ts";
import { type AlertRow, alertColumns, lockCursors } from "./alerts.ts";
import { matchText, Values } from "./conditions.ts";

export type CoveredChain = {
  chain_id: string;
  org_id: string | null;
  partner_id: string | null;
  seq: number;
  head: number;
};

const system = { caller: systemCaller("audit") };

/** Whether alert `t` covers chain `c`: that of its organization, its partner's with those below, or any. */
const covers = sql`t.status = 'active' AND (t.org_id = c.chain_id
  OR (t.org_id IS NULL AND (t.partner_id IS NULL OR t.partner_id = c.partner_id)))`;

/** Whether there is any work, of alerts or of those that were there: an idle service writes nothing. */
export async function isAnyCursorNeeded(tx: Tx): Promise<boolean> {
  const [found] = await tx.query<{ any: boolean }>(sql`
    SELECT EXISTS (SELECT FROM audit_alerts WHERE status = 'active')
      OR EXISTS (SELECT FROM audit_alert_cursors) AS any`);
  return found?.any === true;
}

/**
 * Gives chains that came into being after their alerts a cursor at their beginning, and takes that of chains which no
 * alert covers any more.
 */
export async function alignCursors(tx: Tx): Promise<void> {
  await lockCursors(tx);
  await tx.execute(sql`
    DELETE FROM audit_alert_cursors c WHERE NOT EXISTS (SELECT FROM audit_alerts t WHERE ${covers})`);
  await tx.execute(sql`
    INSERT INTO audit_alert_cursors (chain_id, org_id, partner_id, seq)
    SELECT c.chain_id, c.org_id, c.partner_id, c.base_seq FROM chain_head c
    WHERE NOT EXISTS (SELECT FROM audit_alert_cursors k WHERE k.chain_id = c.chain_id)
      AND EXISTS (SELECT FROM audit_alerts t WHERE ${covers})
    ON CONFLICT DO NOTHING`);
}

/** Locks a chain with rows beyond its cursor that no other process has. */
export async function lockChainWithNews(tx: Tx): Promise<CoveredChain | null> {
  const [chain] = await tx.query<CoveredChain>(sql`
    SELECT c.chain_id, c.org_id, c.partner_id, c.seq, h.seq AS head
    FROM audit_alert_cursors c JOIN chain_head h ON h.chain_id = c.chain_id
    WHERE h.seq > c.seq ORDER BY c.moved_at LIMIT 1 FOR UPDATE OF c SKIP LOCKED`);
  return chain ?? null;
}

/** Active alerts that cover a chain; none for one of a deleted tenant. */
export function alertsOf(
  tx: Tx,
  { chain_id: chainId, partner_id: partnerId, org_id: orgId }: CoveredChain,
): Promise<AlertRow[]> {
  return tx.query<AlertRow>(sql`
    SELECT ${alertColumns} FROM audit_alerts t, (SELECT ${chainId}::uuid AS chain_id, ${partnerId}::uuid AS partner_id) c
    WHERE ${covers}
      AND NOT EXISTS (SELECT FROM tenant x WHERE x.deleted AND x.id IN (${orgId}::uuid, ${partnerId}::uuid))`);
}

/** Rows of a part of a chain that match an alert, in its order; what alerts do by themselves never matches one. */
export function matchedRows(
  tx: Tx,
  alert: AlertRow,
  { chainId, afterSeq, toSeq }: { chainId: string; afterSeq: number; toSeq: number },
): Promise<MatchedRow[]> {
  const values = new Values();
  const range = `l.chain_id = ${values.add(chainId)}::uuid AND l.seq > ${values.add(afterSeq)}::bigint
    AND l.seq <= ${values.add(toSeq)}::bigint`;
  const matching = filtersOf(alert)
    .map((filter) => `(${matchText(values, filter)})`)
    .join(" OR ");
  const start = `(SELECT s.seq FROM audit_alert_starts s WHERE s.chain_id = ${values.add(chainId)}::uuid
    AND s.alert_id = ${values.add(alert.id)}::uuid)`;
  return tx.query<MatchedRow>({
    text: `SELECT l.id, l.seq, l.timestamp, l.action, l.result, l.actor_type, l.actor_id, l.actor_name, l.actor_email,
             l.resource_type, l.resource_id, l.resource_name, l.ip_address
           FROM audit_log l WHERE ${range} AND l.seq > coalesce(${start}, 0) AND NOT (l.actor_type = 'system' AND l.action LIKE 'audit.alert.%')
             AND (${matching}) ORDER BY l.seq`,
    values: values.list,
  });
}

/** Times of rows that an alert has counted in a chain. */
export async function countedTimes(tx: Tx, alertId: string, chainId: string): Promise<Date[]> {
  const [row] = await tx.query<{ times: Date[] }>(
    sql`SELECT times FROM audit_alert_counts WHERE alert_id = ${alertId} AND chain_id = ${chainId}`,
  );
  return row?.times ?? [];
}

export async function storeTimes(tx: Tx, alertId: string, chainId: string, times: readonly Date[]): Promise<void> {
  await tx.execute(sql`
    INSERT INTO audit_alert_counts (alert_id, chain_id, times) VALUES (${alertId}, ${chainId}, ${[...times]}::timestamptz[])
    ON CONFLICT (alert_id, chain_id) DO UPDATE SET times = excluded.times`);
}

export async function insertFiring(
  tx: Tx,
  alertId: string,
  chain: CoveredChain,
  { lastSeq, rows, sample }: Firing,
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO audit_alert_firings (id, alert_id, chain_id, chain_org_id, chain_partner_id, last_seq, rows, sample,
                                     fired_at, next_at)
    VALUES (${uuidv7(now.getTime())}, ${alertId}, ${chain.chain_id}, ${chain.org_id}, ${chain.partner_id}, ${lastSeq},
            ${rows}, ${JSON.stringify(sample)}::text::jsonb, ${now}, ${now})
    ON CONFLICT DO NOTHING`);
}

export async function moveCursor(tx: Tx, chainId: string, seq: number): Promise<void> {
  await tx.execute(sql`
    WITH passed AS (DELETE FROM audit_alert_starts WHERE chain_id = ${chainId} AND seq <= ${seq})
    UPDATE audit_alert_cursors SET seq = ${seq}, moved_at = now() WHERE chain_id = ${chainId}`);
}

export type DueFiring = {
  id: string;
  alert_id: string;
  chain_id: string;
  chain_org_id: string | null;
  chain_partner_id: string | null;
  rows: number;
  sample: Firing["sample"];
  fired_at: Date;
  attempts: number;
};

/** Leases the oldest due firing for `leaseMs`; null when none is due. */
export async function claimFiring(db: Database, leaseMs: number, now: Date): Promise<DueFiring | null> {
  const due = sql`SELECT id FROM audit_alert_firings WHERE next_at <= ${now} LIMIT 1`;
  if ((await db.read(system, due)).length === 0) return null;
  const until = new Date(now.getTime() + leaseMs);
  const [row] = await db.tx(system, (tx) =>
    tx.query<DueFiring>(sql`
      UPDATE audit_alert_firings f SET attempts = f.attempts + 1, next_at = ${until}
      WHERE f.id = (SELECT id FROM audit_alert_firings WHERE next_at <= ${now} ORDER BY next_at LIMIT 1
                    FOR UPDATE SKIP LOCKED)
      RETURNING f.id, f.alert_id, f.chain_id, f.chain_org_id, f.chain_partner_id, f.rows, f.sample, f.fired_at, f.attempts`),
  );
  return row ?? null;
}

export async function postponeFiring(db: Database, { id }: DueFiring, at: Date): Promise<void> {
  await db.tx(system, (tx) => tx.execute(sql`UPDATE audit_alert_firings SET next_at = ${at} WHERE id = ${id}`));
}

/** Ends a firing; false when another process did before. */
export async function removeFiring(tx: Tx, { id }: DueFiring): Promise<boolean> {
  return (await tx.execute(sql`DELETE FROM audit_alert_firings WHERE id = ${id}`)) === 1;
}

/** Records what came of a firing: nothing wrong, or why nothing was sent. */
export async function recordFiring(
  tx: Tx,
  { alert_id: id, fired_at: at }: DueFiring,
  error: string | null,
): Promise<void> {
  await tx.execute(
    error === null
      ? sql`UPDATE audit_alerts SET fired = fired + 1, last_error = NULL, last_fired_at = greatest(last_fired_at, ${at})
            WHERE id = ${id}`
      : sql`UPDATE audit_alerts SET last_error = ${error} WHERE id = ${id}`,
  );
}

/** Ends an alert and what it has yet to send; null when it had ended. */
export async function endAlert(tx: Tx, id: string, reason: string, now: Date): Promise<AlertRow | null> {
  const [row] = await tx.query<AlertRow>(sql`
    UPDATE audit_alerts t SET status = 'ended', last_error = ${reason}, updated_at = ${now}
    WHERE t.id = ${id} AND t.status <> 'ended' RETURNING ${alertColumns}`);
  await tx.execute(sql`DELETE FROM audit_alert_firings WHERE alert_id = ${id}`);
  return row ?? null;
}

/** Alerts whose authors were last looked for before `before`, and marks them (index audit_alerts_to_check). */
export function claimUnchecked(db: Database, before: Date, now: Date, most: number): Promise<AlertRow[]> {
  return db.tx(system, (tx) =>
    tx.query<AlertRow>(sql`
      UPDATE audit_alerts t SET author_checked_at = ${now}
      WHERE t.id IN (SELECT id FROM audit_alerts WHERE status <> 'ended' AND author_checked_at < ${before}
                     ORDER BY author_checked_at LIMIT ${most} FOR UPDATE SKIP LOCKED)
      RETURNING ${alertColumns}`),
  );
}
