import { sql } from "@muster/db";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import type { TenantReader } from "@muster/service";

/**
 * The owner of an organization that is in the caller's access scope and not deleted; queries tenancy for one that the
 * copy lacks. Throws `organization_not_found`, `unavailable`.
 */
export async function organizationInScope(
  { db, learnTenants }: TenantReader,
  who: CallContext,
  named: string,
): Promise<{ orgId: string; partnerId: string }> {
  const orgId = named.toLowerCase();
  const read = async () =>
    (
      await db.read<{ partner_id: string; deleted: boolean }>(
        who,
        sql`SELECT partner_id, deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}::uuid`,
      )
    )[0];
  const isNamed = isUuid(orgId) && isInScope(who, orgId);
  const row = isNamed ? ((await read()) ?? ((await learnTenants([orgId])) ? await read() : undefined)) : undefined;
  const isOther = who.caller.scope === "partner" && row?.partner_id !== who.caller.partnerId;
  if (!row || row.deleted || isOther) throw new AppError("organization_not_found", "Organization not found");
  return { orgId, partnerId: row.partner_id };
}

function isInScope({ caller }: CallContext, orgId: string): boolean {
  if (caller.scope === "system") return true;
  if (caller.scope === "organization") return caller.orgId === orgId;
  return caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId);
}
