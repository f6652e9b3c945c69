import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, sleep } from "@muster/kit";

/** The partner of a living organization as this service's copy has it, giving the copy up to `lagMs` for one just made; else null. */
export async function partnerOfOrganization(
  db: Database,
  who: CallContext,
  orgId: string,
  lagMs: number,
): Promise<string | null> {
  const end = performance.now() + lagMs;
  for (;;) {
    const [row] = await db.read<{ partner_id: string; deleted: boolean }>(
      who,
      sql`SELECT partner_id, deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}::uuid`,
    );
    if (row) return row.deleted ? null : row.partner_id;
    if (performance.now() >= end || !(await sleep(50, who.signal))) return null;
  }
}

/** Whether the copy has the organization as deleted. */
export async function isDeletedOrganization(tx: Tx, orgId: string): Promise<boolean> {
  const rows = await tx.query(sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${orgId}::uuid AND deleted`);
  return rows.length > 0;
}
