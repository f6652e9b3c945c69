import { type Query, sql } from "@muster/db";
import type { Caller } from "@muster/kit";

/** The rows of `organizations` in a caller's scope: the query's own predicate, beside the policies of the table. */
export function organizationsInScope({ scope, partnerId, orgId, orgAccess }: Caller): Query {
  if (scope === "system") return sql`true`;
  if (scope === "organization") return sql`id = ${orgId}::uuid`;
  if (orgAccess.mode === "all") return sql`partner_id = ${partnerId}::uuid`;
  return sql`partner_id = ${partnerId}::uuid AND id = ANY (${orgAccess.orgIds}::uuid[])`;
}

/** The rows of `sites` in a caller's scope, the restriction to single sites included. */
export function sitesInScope({ scope, partnerId, orgId, orgAccess, siteIds }: Caller): Query {
  const unrestricted = (): Query => {
    if (scope === "system") return sql`true`;
    if (scope === "organization") return sql`org_id = ${orgId}::uuid`;
    if (orgAccess.mode === "all") return sql`partner_id = ${partnerId}::uuid`;
    return sql`partner_id = ${partnerId}::uuid AND org_id = ANY (${orgAccess.orgIds}::uuid[])`;
  };
  return siteIds === null ? unrestricted() : sql`${unrestricted()} AND id = ANY (${siteIds}::uuid[])`;
}
