import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { TenantReader } from "@muster/service";

export type WantedTenants = { partnerId: string | null; orgIds: readonly string[]; siteIds: readonly string[] };

export type CachedTenants = {
  partner: boolean;
  /** Partner of each organization. */
  orgs: Map<string, { partnerId: string }>;
  sites: Map<string, { partnerId: string; orgId: string | null }>;
};

type Row = { kind: string; id: string; partner_id: string; org_id: string | null };

/**
 * Those of the wanted tenants that exist, are not deleted and are visible to the caller, as identity's copy has them.
 */
export async function cachedTenants(db: Database, who: CallContext, wanted: WantedTenants): Promise<CachedTenants> {
  const rows = await db.read<Row>(
    who,
    sql`
      SELECT kind, id, partner_id, org_id FROM tenant
      WHERE NOT deleted AND (kind, id) IN (
        SELECT 'partner', ${wanted.partnerId}::uuid
        UNION ALL SELECT 'organization', unnest(${[...wanted.orgIds]}::uuid[])
        UNION ALL SELECT 'site', unnest(${[...wanted.siteIds]}::uuid[]))`,
  );
  const of = (kind: string) => rows.filter((row) => row.kind === kind);
  return {
    partner: of("partner").length > 0,
    orgs: new Map(of("organization").map((r) => [r.id, { partnerId: r.partner_id }])),
    sites: new Map(of("site").map((r) => [r.id, { partnerId: r.partner_id, orgId: r.org_id }])),
  };
}

/** As cachedTenants, requesting from tenancy those that the copy lacks. Throws `unavailable`. */
export async function findTenants(
  { db, learnTenants }: TenantReader,
  who: CallContext,
  wanted: WantedTenants,
): Promise<CachedTenants> {
  const cached = await cachedTenants(db, who, wanted);
  const lacking = [
    ...(wanted.partnerId === null || cached.partner ? [] : [wanted.partnerId]),
    ...wanted.orgIds.filter((id) => !cached.orgs.has(id)),
    ...wanted.siteIds.filter((id) => !cached.sites.has(id)),
  ];
  if (lacking.length === 0 || !(await learnTenants(lacking))) return cached;
  return cachedTenants(db, who, wanted);
}

/** Whether the copy has an organization, deleted ones included. */
export async function isCachedOrganization(db: Database, who: CallContext, id: string): Promise<boolean> {
  return (await db.read(who, sql`SELECT FROM tenant WHERE kind = 'organization' AND id = ${id}`)).length > 0;
}
