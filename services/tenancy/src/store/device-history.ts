import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, systemCaller, zeroUuid } from "@muster/kit";
import { hourMs, slotMs } from "../rules/metric-hours.ts";
import type { Period } from "../rules/metric-series.ts";

const system = { caller: systemCaller("tenancy") };
/** Counts of one five minutes. */
const perSlot = 4;
const slotsOfHour = hourMs / slotMs;

export type HistoryPoint = { atMs: number; online: number; offline: number; updating: number; quarantined: number };

/**
 * Counts the devices of each organization, each partner and the platform for the five minutes of `at`; once for any
 * number of processes. Returns the number of owners, 0 when it was done already.
 */
export function countStates(db: Database, at: Date): Promise<number> {
  const hour = Math.floor(at.getTime() / hourMs);
  const first = (Math.floor(at.getTime() / slotMs) % slotsOfHour) * perSlot + 1;
  const last = first + perSlot - 1;
  return db.tx(system, async (tx) => {
    const [lock] = await tx.query<{ held: boolean }>(
      sql`SELECT pg_try_advisory_xact_lock(hashtextextended('tenancy.device_history', 0)) AS held`,
    );
    if (!lock?.held || (await isCounted(tx, hour, first))) return 0;
    return tx.execute(sql`
      WITH states AS (
        SELECT d.org_id, d.partner_id, d.status, count(*)::int AS n FROM devices d
        JOIN organizations o ON o.id = d.org_id AND o.deleted_at IS NULL
        WHERE d.status <> 'decommissioned' GROUP BY 1, 2, 3
      ), owners AS (
        SELECT coalesce(org_id, partner_id, ${zeroUuid}::uuid) AS owner_id,
               ARRAY['online', 'offline', 'updating', 'quarantined'] AS names,
               jsonb_object_agg(status, n) AS n
        FROM (SELECT org_id, partner_id, status, sum(n)::int AS n FROM states
              GROUP BY GROUPING SETS ((org_id, partner_id, status), (partner_id, status), (status))) g
        GROUP BY 1
        UNION ALL
        SELECT ${zeroUuid}::uuid, ARRAY['online', 'offline', 'updating', 'quarantined'], '{}'
        WHERE NOT EXISTS (SELECT FROM states)
      )
      INSERT INTO device_history AS h (owner_id, hour, counts)
      SELECT owner_id, ${hour}::int,
             array_fill(NULL::int, ARRAY[${first - 1}::int])
             || ARRAY(SELECT coalesce((owners.n ->> name)::int, 0) FROM unnest(names) WITH ORDINALITY AS u (name, at) ORDER BY at)
      FROM owners
      ON CONFLICT (owner_id, hour) DO UPDATE
      SET counts[${first}::int:${last}::int] = excluded.counts[${first}::int:${last}::int]`);
  });
}

async function isCounted(tx: Tx, hour: number, first: number): Promise<boolean> {
  const [row] = await tx.query<{ counted: boolean }>(sql`
    SELECT counts[${first}::int] IS NOT NULL AS counted FROM device_history
    WHERE owner_id = ${zeroUuid}::uuid AND hour = ${hour}::int`);
  return row?.counted ?? false;
}

/** Owners of which the counts add up to what a caller sees, all or one organization. */
export function historyOwners({ scope, partnerId, orgId, orgAccess }: Caller, wantedOrgId: string): readonly string[] {
  if (wantedOrgId !== "") return [wantedOrgId];
  if (scope === "system") return [zeroUuid];
  if (scope === "organization") return orgId === null ? [] : [orgId];
  if (orgAccess.mode === "list") return orgAccess.orgIds;
  return partnerId === null ? [] : [partnerId];
}

/** The mean of the counts in each step, oldest first; steps without any are left out. */
export async function readHistory(
  db: Database,
  { deadlineMs, meta }: CallContext,
  owners: readonly string[],
  { fromMs, toMs, stepMs }: Period,
): Promise<HistoryPoint[]> {
  type Row = Omit<HistoryPoint, "atMs"> & { step: number };
  const rows = await db.read<Row>(
    { ...system, deadlineMs, meta },
    sql`WITH slots AS (
          SELECT hour * ${slotsOfHour}::int + s AS slot,
                 sum(counts[s * ${perSlot}::int + 1]) AS online, sum(counts[s * ${perSlot}::int + 2]) AS offline,
                 sum(counts[s * ${perSlot}::int + 3]) AS updating, sum(counts[s * ${perSlot}::int + 4]) AS quarantined
          FROM device_history, generate_series(0, ${slotsOfHour - 1}::int) AS s
          WHERE owner_id = ANY (${[...owners]}::uuid[]) AND hour >= ${Math.floor(fromMs / hourMs)}::int
            AND hour < ${Math.ceil(toMs / hourMs)}::int AND counts[s * ${perSlot}::int + 1] IS NOT NULL
          GROUP BY 1
        )
        SELECT slot / ${stepMs / slotMs}::int AS step, round(avg(online))::int AS online, round(avg(offline))::int AS offline,
               round(avg(updating))::int AS updating, round(avg(quarantined))::int AS quarantined
        FROM slots WHERE slot >= ${fromMs / slotMs}::int AND slot < ${Math.ceil(toMs / slotMs)}::int
        GROUP BY 1 ORDER BY 1`,
  );
  return rows.map(({ step, ...counts }) => ({ atMs: step * stepMs, ...counts }));
}

/** Removes hours before that time; returns how many rows. */
export function removeHistory(db: Database, before: Date): Promise<number> {
  const hour = Math.floor(before.getTime() / hourMs);
  return db.tx(system, (tx) => tx.execute(sql`DELETE FROM device_history WHERE hour < ${hour}::int`));
}
