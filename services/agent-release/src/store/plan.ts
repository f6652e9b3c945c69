import { sql, type Tx } from "@muster/db";

export type PlanScope = { scope: "all" } | { scope: "partner" | "organization"; id: string };

export type PlanChangeRow = { epoch: number; scope: "all" | "partner" | "organization"; id: string | null };

/**
 * Raises the epoch in the transaction of a change: earlier decisions become invalid for the devices that it concerns.
 */
export async function bumpPlan(tx: Tx, of: PlanScope): Promise<number> {
  const id = of.scope === "all" ? null : of.id;
  const [row] = await tx.query<{ epoch: number }>(sql`
    WITH raised AS (UPDATE plan SET epoch = epoch + 1 WHERE one RETURNING epoch),
         noted AS (INSERT INTO plan_change (epoch, scope, id) SELECT epoch, ${of.scope}, ${id}::uuid FROM raised)
    SELECT epoch FROM raised`);
  return Number(row?.epoch ?? 0);
}

export async function readEpoch(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ epoch: number }>(sql`SELECT epoch FROM plan WHERE one`);
  return Number(row?.epoch ?? 0);
}

/**
 * Changes after an epoch, of each scope the newest; null when they are not all kept any more, or concern more than
 * `max` scopes: repeated changes of one organization never make all devices check again.
 */
export async function changesSince(tx: Tx, since: number, epoch: number, max: number): Promise<PlanChangeRow[] | null> {
  if (since >= epoch) return [];
  const rows = await tx.query<PlanChangeRow & { first: number }>(sql`
    SELECT max(epoch) AS epoch, scope, id, min(min(epoch)) OVER () AS first FROM plan_change WHERE epoch > ${since}
    GROUP BY scope, id ORDER BY 1 LIMIT ${max + 1}`);
  const isWhole = rows.length > 0 && rows.length <= max && Number(rows[0]?.first) === since + 1;
  return isWhole ? rows.map(({ epoch: at, scope, id }) => ({ epoch: Number(at), scope, id })) : null;
}

/** Forgets changes of more than an hour ago. */
export function forgetChanges(tx: Tx): Promise<number> {
  return tx.execute(sql`DELETE FROM plan_change WHERE changed_at < clock_timestamp() - interval '1 hour'`);
}
