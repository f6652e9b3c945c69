import { sql, type Tx } from "@muster/db";

/**
 * Increments the organization's count of devices, without decommissioned ones, and returns it. The row stays locked
 * until the end of the transaction; callers hold the locks on partner and organization already, in this order.
 */
export async function countUp(tx: Tx, orgId: string, partnerId: string): Promise<number> {
  const [row] = await tx.query<{ living: number }>(sql`
    INSERT INTO device_counts (org_id, partner_id, living) VALUES (${orgId}, ${partnerId}, 1)
    ON CONFLICT (org_id) DO UPDATE SET living = device_counts.living + 1
    RETURNING living`);
  return row?.living ?? 0;
}

/** Counts one device less: it was decommissioned. */
export async function countDown(tx: Tx, orgId: string): Promise<void> {
  const touched = await tx.execute(sql`UPDATE device_counts SET living = living - 1 WHERE org_id = ${orgId}::uuid`);
  if (touched !== 1) throw new Error("a device was not counted when it enrolled");
}

/**
 * A locked partner's devices, without decommissioned ones and those of deleted organizations (index
 * device_counts_by_partner).
 */
export async function devicesOfPartner(tx: Tx, partnerId: string): Promise<number> {
  const [row] = await tx.query<{ living: number }>(sql`
    SELECT coalesce(sum(c.living), 0)::int AS living
    FROM device_counts c JOIN organizations o ON o.id = c.org_id
    WHERE c.partner_id = ${partnerId}::uuid AND o.deleted_at IS NULL`);
  return row?.living ?? 0;
}
