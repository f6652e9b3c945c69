import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, type Page, systemCaller } from "@muster/kit";
import type { JsonObject } from "../rules/fields.ts";
import type { OwnerView } from "../rules/owner-list.ts";
import { organizationOfSiteDenied } from "../rules/refusals.ts";
import type { SiteFields } from "../rules/site.ts";
import { organizationsInScope, sitesInScope } from "./access-scope.ts";
import { containing, type NamePage } from "./name-page.ts";
import { readOwnerPage, type WithCounts } from "./owner-devices.ts";
import { leaveSite } from "./site-removals.ts";

export type SiteRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  timezone: string;
  address: JsonObject;
  contact: JsonObject;
  settings: JsonObject;
  labels: Record<string, string>;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`id, org_id, partner_id, name, timezone, address, contact, settings, labels, version,
  created_at, updated_at`;

/** Sites of deleted organizations are visible to system callers only. */
export function organizationNotDeleted({ scope }: Caller) {
  if (scope === "system") return sql`true`;
  return sql`org_id NOT IN (SELECT o.id FROM organizations o WHERE o.deleted_at IS NOT NULL)`;
}

/** The partner of an organization, not deleted, in the caller's scope, or null. */
export async function organizationForSite(tx: Tx, caller: Caller, orgId: string): Promise<string | null> {
  const [row] = await tx.query<{ partner_id: string }>(
    sql`SELECT partner_id FROM organizations
        WHERE id = ${orgId} AND deleted_at IS NULL AND ${organizationsInScope(caller)}`,
  );
  return row?.partner_id ?? null;
}

/** Inserts a site of an organization that was just found. */
export async function insertSite(
  tx: Tx,
  ids: { id: string; orgId: string; partnerId: string },
  site: SiteFields,
  now: Date,
): Promise<SiteRow> {
  const [row] = await tx.query<SiteRow>(sql`
    INSERT INTO sites (id, org_id, partner_id, name, timezone, address, contact, settings, created_at, updated_at)
    VALUES (${ids.id}, ${ids.orgId}, ${ids.partnerId}, ${site.name}, ${site.timezone}, ${site.address}, ${site.contact},
            ${site.settings}, ${now}, ${now})
    RETURNING ${columns}`);
  return row as SiteRow;
}

/** One site in the caller's scope, or null. */
export async function findSite(db: Database, who: CallContext, id: string): Promise<SiteRow | null> {
  const [row] = await db.read<SiteRow>(
    who,
    sql`SELECT ${columns} FROM sites
        WHERE id = ${id} AND ${sitesInScope(who.caller)} AND ${organizationNotDeleted(who.caller)}`,
  );
  return row ?? null;
}

/** As findSite, locked until the end of the transaction. */
export async function lockSite(tx: Tx, caller: Caller, id: string): Promise<SiteRow | null> {
  const [row] = await tx.query<SiteRow>(
    sql`SELECT ${columns} FROM sites
        WHERE id = ${id} AND ${sitesInScope(caller)} AND ${organizationNotDeleted(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** Whether the site exists at all: a missing one is answered otherwise than one out of scope. */
export async function siteExists(db: Database, { deadlineMs }: CallContext, id: string): Promise<boolean> {
  const who = { caller: systemCaller("tenancy"), deadlineMs };
  const rows = await db.read(who, sql`SELECT FROM sites WHERE id = ${id}`);
  return rows.length > 0;
}

/** Writes all fields of a locked site. */
export async function updateSite(tx: Tx, id: string, site: SiteFields, now: Date): Promise<SiteRow> {
  const [row] = await tx.query<SiteRow>(sql`
    UPDATE sites
    SET name = ${site.name}, timezone = ${site.timezone}, address = ${site.address}, contact = ${site.contact},
        settings = ${site.settings}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING ${columns}`);
  return row as SiteRow;
}

/** Writes the labels of a locked site. */
export async function updateSiteLabels(tx: Tx, id: string, labels: SiteRow["labels"], now: Date): Promise<SiteRow> {
  const [row] = await tx.query<SiteRow>(sql`
    UPDATE sites SET labels = ${labels}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING ${columns}`);
  return row as SiteRow;
}

/**
 * Removes a locked site permanently, with its groups. Of its devices 500 leave it here, others later in slices; to
 * readers none has a site any more.
 */
export async function deleteSite(tx: Tx, id: string): Promise<void> {
  // Trigger sites_deleted notes the site in site_removals.
  await tx.execute(sql`DELETE FROM sites WHERE id = ${id}`);
  await leaveSite(tx, id);
}

/**
 * A page of the sites in the caller's scope, by name unless sorted: of one organization (index sites_by_org), of a
 * partner (sites_by_partner) or of all (sites_by_name). Throws as organizationOfSiteDenied when `orgId` is out of
 * scope.
 */
export async function listSites(
  db: Database,
  who: CallContext,
  { orgId, search, ...view }: { orgId: string | null; search: string } & OwnerView,
  page: Page,
): Promise<NamePage<WithCounts<SiteRow>>> {
  const { caller } = who;
  const named = containing(search, sql`name`);
  const where =
    orgId === null
      ? sql`${sitesInScope(caller)} AND ${organizationNotDeleted(caller)} AND ${named}`
      : sql`org_id = ${orgId}::uuid AND ${sitesInScope(caller)} AND ${named}`;
  const { orgAccess, scope } = caller;
  const list = {
    tableName: "sites",
    table: sql`sites`,
    columns,
    where,
    ...(orgId === null ? { estimateBy: sql`${sitesInScope(caller)} AND ${named}` } : {}),
    ...(orgId === null && scope === "partner" && orgAccess.mode === "list"
      ? { among: { column: sql`org_id`, ids: orgAccess.orgIds } }
      : {}),
  };
  const devices = orgId === null ? sql`true` : sql`org_id = ${orgId}::uuid`;
  const owner = orgId === null ? null : organizationInScope(caller, orgId);
  const owners = { ...list, owner: "site_id", devices } as const;
  const { listed, also } = await readOwnerPage<SiteRow>(db, who, owners, page, { ...view, also: owner });
  if (owner !== null && also.length === 0) throw organizationOfSiteDenied(caller);
  return listed;
}

/** Finds an organization in the caller's scope; a deleted one is visible to system callers only. */
function organizationInScope(caller: Caller, orgId: string) {
  const notDeleted = caller.scope === "system" ? sql`true` : sql`deleted_at IS NULL`;
  return sql`SELECT FROM organizations WHERE id = ${orgId} AND ${notDeleted} AND ${organizationsInScope(caller)}`;
}

/** The fields that changes are decided on and audit rows show. */
export function siteFields(row: SiteRow): SiteFields {
  return {
    name: row.name,
    timezone: row.timezone,
    address: row.address,
    contact: row.contact,
    settings: row.settings,
  };
}
