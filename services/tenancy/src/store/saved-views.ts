import { type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext, Caller, Page } from "@muster/kit";
import type { JsonObject } from "../rules/fields.ts";
import type { NewSavedView, SavedViewFields } from "../rules/saved-view.ts";
import { findOwner } from "./device-scope.ts";
import { containing, type NamePage, readNamePage } from "./name-page.ts";

export type SavedViewRow = {
  id: string;
  org_id: string | null;
  partner_id: string | null;
  owner_id: string;
  name: string;
  resource: string;
  query: JsonObject;
  shared: boolean;
  created_at: Date;
  updated_at: Date;
};

/** Tenant of a view; null for none. */
export type ViewTenant = { orgId: string | null; partnerId: string | null };

const columns = sql`id, org_id, partner_id, owner_id, name, resource, query, shared, created_at, updated_at`;

/**
 * The caller's own views, and those shared in the tenants in scope; of deleted organizations for system callers only.
 * The query's own predicate, besides the policy of the table.
 */
function viewsInScope(caller: Caller): Query {
  return sql`(shared OR owner_id = ${caller.actor.id}::uuid) AND ${ofTenants(caller)}`;
}

/** Rows of the tenants in scope. */
export function ofTenants({ scope, partnerId, orgId, orgAccess }: Caller): Query {
  if (scope === "system") return sql`true`;
  const isActive = sql`(org_id IS NULL OR org_id NOT IN (SELECT o.id FROM organizations o WHERE o.deleted_at IS NOT NULL))`;
  if (scope === "organization") return sql`org_id = ${orgId}::uuid AND ${isActive}`;
  if (orgAccess.mode === "all") return sql`partner_id = ${partnerId}::uuid AND ${isActive}`;
  return sql`partner_id = ${partnerId}::uuid AND (org_id IS NULL OR org_id = ANY (${orgAccess.orgIds}::uuid[])) AND ${isActive}`;
}

/**
 * A page by name (indexes saved_views_of_owner, _of_organization, _of_partner, _by_name). Null when the organization of
 * the filter is out of scope.
 */
export async function listSavedViews(
  db: Database,
  who: CallContext,
  filter: { orgId: string; resource: string; search: string },
  page: Page,
): Promise<NamePage<SavedViewRow> | null> {
  const { caller } = who;
  const parts = [viewsInScope(caller), containing(filter.search, sql`name`)];
  if (filter.resource !== "") parts.push(sql`resource = ${filter.resource}`);
  if (filter.orgId !== "") {
    const owner = await db.tx(who, (tx) => findOwner(tx, caller, filter.orgId, true), { readOnly: true });
    if (owner === null) return null;
    parts.push(sql`org_id = ${filter.orgId}::uuid`);
  }
  const where = parts.reduce((all, part) => sql`${all} AND ${part}`);
  return readNamePage<SavedViewRow>(
    db,
    who,
    { tableName: "saved_views", table: sql`saved_views`, columns, where },
    page,
  );
}

/** One view that the caller sees, or null. */
export async function findSavedView(db: Database, who: CallContext, id: string): Promise<SavedViewRow | null> {
  const [row] = await db.read<SavedViewRow>(
    who,
    sql`SELECT ${columns} FROM saved_views WHERE id = ${id}::uuid AND ${viewsInScope(who.caller)}`,
  );
  return row ?? null;
}

/** As findSavedView, locked until the end of the transaction. */
export async function lockSavedView(tx: Tx, caller: Caller, id: string): Promise<SavedViewRow | null> {
  const [row] = await tx.query<SavedViewRow>(
    sql`SELECT ${columns} FROM saved_views WHERE id = ${id}::uuid AND ${viewsInScope(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** How many views are shared in the tenant, or the caller has alone; creations of either wait for one another. */
export async function countSavedViews(tx: Tx, ownerId: string, tenant: ViewTenant, shared: boolean): Promise<number> {
  const { orgId, partnerId } = tenant;
  const set = shared ? `tenant/${orgId ?? partnerId ?? ""}` : `user/${ownerId}`;
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`saved-views/${set}`}, 0))`);
  const ofSet = shared
    ? sql`shared AND org_id IS NOT DISTINCT FROM ${orgId}::uuid AND partner_id IS NOT DISTINCT FROM ${partnerId}::uuid`
    : sql`NOT shared AND owner_id = ${ownerId}::uuid`;
  const [row] = await tx.query<{ n: number }>(sql`SELECT count(*)::int AS n FROM saved_views WHERE ${ofSet}`);
  return row?.n ?? 0;
}

export async function insertSavedView(
  tx: Tx,
  ids: ViewTenant & { id: string; ownerId: string },
  view: NewSavedView,
  now: Date,
): Promise<SavedViewRow> {
  const [row] = await tx.query<SavedViewRow>(sql`
    INSERT INTO saved_views (id, org_id, partner_id, owner_id, name, resource, query, shared, created_at, updated_at)
    VALUES (${ids.id}, ${ids.orgId}, ${ids.partnerId}, ${ids.ownerId}, ${view.name}, ${view.resource},
            ${JSON.stringify(view.query)}::jsonb, ${view.shared}, ${now}, ${now})
    RETURNING ${columns}`);
  return row as SavedViewRow;
}

/** Writes all fields of a locked view. */
export async function updateSavedView(tx: Tx, id: string, view: SavedViewFields, now: Date): Promise<SavedViewRow> {
  const [row] = await tx.query<SavedViewRow>(sql`
    UPDATE saved_views
    SET name = ${view.name}, query = ${JSON.stringify(view.query)}::jsonb, shared = ${view.shared}, updated_at = ${now}
    WHERE id = ${id}::uuid RETURNING ${columns}`);
  return row as SavedViewRow;
}

export async function deleteSavedView(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM saved_views WHERE id = ${id}::uuid`);
}

/** Deletes the views of tenants that are purged. */
export async function deleteViewsOf(tx: Tx, tenantIds: readonly string[]): Promise<void> {
  await tx.execute(
    sql`DELETE FROM saved_views WHERE org_id = ANY (${[...tenantIds]}::uuid[]) OR partner_id = ANY (${[...tenantIds]}::uuid[])`,
  );
}

/** The fields that changes are decided on and audit rows show. */
export function savedViewFields({ name, query, shared }: SavedViewRow): SavedViewFields {
  return { name, query, shared };
}
