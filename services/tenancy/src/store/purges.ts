import { sql, type Tx } from "@muster/db";

export type PurgedTenant = {
  kind: "partner" | "organization";
  id: string;
  name: string;
  version: number;
  partner_id: string;
  status: string;
};

/**
 * Marks tenants that were deleted before that time as purged, at most `most` of each kind, and returns them; each one
 * once, for any number of callers.
 */
export async function takePurged(tx: Tx, before: Date, at: Date, most: number): Promise<PurgedTenant[]> {
  const organizations = await tx.query<PurgedTenant>(sql`
    UPDATE organizations SET purged_at = ${at} WHERE id = ANY (ARRAY(
      SELECT id FROM organizations WHERE deleted_at < ${before} AND purged_at IS NULL
      ORDER BY deleted_at LIMIT ${most} FOR UPDATE SKIP LOCKED))
    RETURNING 'organization' AS kind, id, name, version, partner_id, status`);
  const partners = await tx.query<PurgedTenant>(sql`
    UPDATE partners SET purged_at = ${at} WHERE id = ANY (ARRAY(
      SELECT id FROM partners WHERE deleted_at < ${before} AND purged_at IS NULL
      ORDER BY deleted_at LIMIT ${most} FOR UPDATE SKIP LOCKED))
    RETURNING 'partner' AS kind, id, name, version, id AS partner_id, status`);
  return [...organizations, ...partners];
}
