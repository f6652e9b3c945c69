import { type Database, plainArray, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { type TenantReader, visibleTo } from "@muster/service";

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
        sql`SELECT partner_id, deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}`,
      )
    )[0];
  const row = (await read()) ?? ((await learnTenants([orgId])) ? await read() : undefined);
  return row && !row.deleted ? row.partner_id : null;
}

/** Whether the copy has this organization, deleted or not. */
export async function organizationExists(db: Database, who: CallContext, id: string): Promise<boolean> {
  return (await db.read(who, sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${id}`)).length > 0;
}

/** Ids of all organizations that are visible to the caller. */
export async function visibleOrganizations(db: Database, who: CallContext): Promise<string[]> {
  const rows = await db.read<{ id: string }>(
    who,
    sql`SELECT t.id FROM tenant AS t WHERE t.kind = 'organization' AND NOT t.deleted AND ${visibleTo(who.caller)}`,
  );
  return rows.map(({ id }) => id);
}

/** Those of these ids that are no site of the organization, or a deleted one. */
export async function foreignSites(tx: Tx, orgId: string, siteIds: readonly string[]): Promise<Set<string>> {
  if (siteIds.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>(
    sql`SELECT s.id FROM unnest(${plainArray(siteIds)}::uuid[]) AS s (id)
        WHERE NOT EXISTS (SELECT FROM tenant t
                          WHERE t.kind = 'site' AND t.id = s.id AND t.org_id = ${orgId} AND NOT t.deleted)`,
  );
  return new Set(rows.map(({ id }) => id));
}
