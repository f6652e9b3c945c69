import { type Database, sql } from "@muster/db";
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
