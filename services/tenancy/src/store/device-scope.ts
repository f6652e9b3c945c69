import { type Query, sql, type Tx } from "@muster/db";
import type { Caller } from "@muster/kit";
import { organizationsInScope, sitesInScope } from "./access-scope.ts";
import { siteNotRemoved } from "./site-removals.ts";

/**
 * The rows of `devices` or `device_groups` in a caller's scope: the query's own predicate, besides the policies of
 * the tables. Those of deleted organizations are visible to system callers only; of users limited to sites no row
 * without a site is in scope.
 */
export function rowsInScope(caller: Caller): Query {
  const own = ownBySite(caller);
  if (caller.scope === "system") return own;
  return sql`${own} AND org_id NOT IN (SELECT o.id FROM organizations o WHERE o.deleted_at IS NOT NULL)`;
}

/** The rows in a caller's scope, including those of deleted organizations. */
export function ownBySite({ scope, partnerId, orgId, orgAccess, siteIds }: Caller): Query {
  if (scope === "system") return sql`true`;
  const own = (): Query => {
    if (scope === "organization") return sql`org_id = ${orgId}::uuid`;
    if (orgAccess.mode === "all") return sql`partner_id = ${partnerId}::uuid`;
    return sql`partner_id = ${partnerId}::uuid AND org_id = ANY (${orgAccess.orgIds}::uuid[])`;
  };
  return siteIds === null ? own() : sql`${own()} AND site_id = ANY (${siteIds}::uuid[]) AND ${siteNotRemoved}`;
}

/**
 * The partner of an organization, not deleted, in the caller's scope, or null; deleted ones are included for lists of
 * system callers.
 */
export async function findOwner(tx: Tx, caller: Caller, orgId: string, deletedToo = false): Promise<string | null> {
  const notDeleted = deletedToo && caller.scope === "system" ? sql`true` : sql`deleted_at IS NULL`;
  const [row] = await tx.query<{ partner_id: string }>(
    sql`SELECT partner_id FROM organizations WHERE id = ${orgId}::uuid AND ${notDeleted} AND ${organizationsInScope(caller)}`,
  );
  return row?.partner_id ?? null;
}

/** The organization of a site in the caller's scope, or null; the site stays until the end of the transaction. */
export async function holdSite(tx: Tx, caller: Caller, siteId: string): Promise<string | null> {
  const [row] = await tx.query<{ org_id: string }>(
    sql`SELECT org_id FROM sites WHERE id = ${siteId}::uuid AND ${sitesInScope(caller)} FOR KEY SHARE`,
  );
  return row?.org_id ?? null;
}
