import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { TenantReader } from "@muster/service";

/**
 * The partner of a living organization in the caller's sight, asking tenancy for one that the copy lacks; else null.
 * Throws `unavailable`.
 */
export async function partnerOfOrganization(
  { db, learnTenants }: TenantReader,
  who: CallContext,
  orgId: string,
): Promise<string | null> {
  const look = async () =>
    (
      await db.read<{ partner_id: string; deleted: boolean }>(
        who,
        sql`SELECT partner_id, deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}`,
      )
    )[0];
  const row = (await look()) ?? ((await learnTenants([orgId])) ? await look() : undefined);
  return row && !row.deleted ? row.partner_id : null;
}

/** Whether the copy knows an organization at all, deleted ones included. */
export async function organizationIsKnown(db: Database, who: CallContext, id: string): Promise<boolean> {
  return (await db.read(who, sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${id}`)).length > 0;
}
