import { sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { TenantReader } from "@muster/service";

/**
 * The partner of an organization that is visible to the caller and not deleted, else null; queries tenancy for one that
 * the copy lacks. Throws `unavailable`.
 */
export async function partnerOfOrganization(
  { db, learnTenants }: TenantReader,
  who: CallContext,
  orgId: string,
): Promise<string | null> {
  const read = async () =>
    (
      await db.read<{ partner_id: string; deleted: boolean }>(
        who,
        sql`SELECT partner_id, deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}::uuid`,
      )
    )[0];
  const row = (await read()) ?? ((await learnTenants([orgId])) ? await read() : undefined);
  return row && !row.deleted ? row.partner_id : null;
}

/** Whether the copy has the organization as deleted. */
export async function isDeletedOrganization(tx: Tx, orgId: string): Promise<boolean> {
  const rows = await tx.query(sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${orgId}::uuid AND deleted`);
  return rows.length > 0;
}

/** The partners of organizations, deleted ones included; those that the copy lacks are left out. */
export async function partnersOfOrganizations(tx: Tx, orgIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; partner_id: string }>(
    sql`SELECT id, partner_id FROM tenant WHERE kind = 'organization' AND id = ANY (${[...orgIds]}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.id, row.partner_id]));
}
