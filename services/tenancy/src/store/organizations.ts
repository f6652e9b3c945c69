import { type Database, isUniqueViolation, type Query, sql, type Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, type Page } from "@muster/kit";
import type { JsonObject } from "../rules/fields.ts";
import type { OrganizationFields } from "../rules/organization.ts";
import type { OwnerView } from "../rules/owner-list.ts";
import { organizationsInScope } from "./access-scope.ts";
import { containing, type NamePage } from "./name-page.ts";
import { readOwnerPage, type WithCounts } from "./owner-devices.ts";

export type OrganizationRow = {
  id: string;
  partner_id: string;
  name: string;
  slug: string;
  type: string;
  status: string;
  max_devices: number | null;
  settings: JsonObject;
  sso_config: JsonObject;
  billing_contact: JsonObject;
  contract_start: Date | null;
  contract_end: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

const columns = sql`id, partner_id, name, slug, type, status, max_devices, settings, sso_config, billing_contact,
  contract_start, contract_end, version, created_at, updated_at, deleted_at`;

/** Inserts an organization. Throws `slug_taken` when another organization of the partner, not deleted, has the slug. */
export async function insertOrganization(
  tx: Tx,
  ids: { id: string; partnerId: string },
  organization: OrganizationFields,
  now: Date,
): Promise<OrganizationRow> {
  return writtenRow(
    tx,
    sql`
      INSERT INTO organizations (id, partner_id, name, slug, type, status, max_devices, settings, sso_config,
                                 billing_contact, contract_start, contract_end, created_at, updated_at)
      VALUES (${ids.id}, ${ids.partnerId}, ${organization.name}, ${organization.slug}, ${organization.type},
              ${organization.status}, ${organization.maxDevices}, ${organization.settings}, ${organization.ssoConfig},
              ${organization.billingContact}, ${organization.contractStart}, ${organization.contractEnd}, ${now}, ${now})
      RETURNING ${columns}`,
  );
}

/** Whether a locked partner has `limit` or more organizations that are not deleted. */
export async function hasOrganizations(tx: Tx, partnerId: string, limit: number): Promise<boolean> {
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*) AS n
    FROM (SELECT FROM organizations WHERE partner_id = ${partnerId} AND deleted_at IS NULL LIMIT ${limit}) AS counted`);
  return (row?.n ?? 0) >= limit;
}

/** One organization, not deleted, in the caller's scope, or null. */
export async function findOrganization(db: Database, who: CallContext, id: string): Promise<OrganizationRow | null> {
  const [row] = await db.read<OrganizationRow>(
    who,
    sql`SELECT ${columns} FROM organizations
        WHERE id = ${id} AND deleted_at IS NULL AND ${organizationsInScope(who.caller)}`,
  );
  return row ?? null;
}

/** As findOrganization, locked until the end of the transaction. */
export async function lockOrganization(tx: Tx, caller: Caller, id: string): Promise<OrganizationRow | null> {
  const [row] = await tx.query<OrganizationRow>(
    sql`SELECT ${columns} FROM organizations
        WHERE id = ${id} AND deleted_at IS NULL AND ${organizationsInScope(caller)} FOR NO KEY UPDATE`,
  );
  return row ?? null;
}

/** Writes all fields of a locked organization. Throws `slug_taken` as insertOrganization does. */
export async function updateOrganization(
  tx: Tx,
  id: string,
  organization: OrganizationFields,
  now: Date,
): Promise<OrganizationRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE organizations
      SET name = ${organization.name}, slug = ${organization.slug}, type = ${organization.type},
          status = ${organization.status}, max_devices = ${organization.maxDevices}, settings = ${organization.settings},
          sso_config = ${organization.ssoConfig}, billing_contact = ${organization.billingContact},
          contract_start = ${organization.contractStart}, contract_end = ${organization.contractEnd},
          version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`,
  );
}

/** Marks an organization in the caller's scope as deleted; null when there is none. Its sites stay. */
export async function markOrganizationDeleted(
  tx: Tx,
  caller: Caller,
  id: string,
  now: Date,
): Promise<OrganizationRow | null> {
  const [row] = await tx.query<OrganizationRow>(sql`
    UPDATE organizations SET deleted_at = ${now}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} AND deleted_at IS NULL AND ${organizationsInScope(caller)} RETURNING ${columns}`);
  return row ?? null;
}

/**
 * A page of organizations, not deleted, in the caller's scope, of one partner when `partnerId` is given, by name
 * (indexes organizations_by_partner, organizations_by_name) unless sorted.
 */
export async function listOrganizations(
  db: Database,
  who: CallContext,
  { partnerId, search, ...view }: { partnerId: string | null; search: string } & OwnerView,
  page: Page,
): Promise<NamePage<WithCounts<OrganizationRow>>> {
  const ofPartner = partnerId === null ? sql`true` : sql`partner_id = ${partnerId}::uuid`;
  const named = containing(search, sql`name`, sql`slug`);
  const where = sql`deleted_at IS NULL AND ${organizationsInScope(who.caller)} AND ${ofPartner} AND ${named}`;
  const list = { tableName: "organizations", table: sql`organizations`, columns, where };
  const owners = { ...list, owner: "org_id", devices: ofPartner } as const;
  return (await readOwnerPage<OrganizationRow>(db, who, owners, page, view)).listed;
}

/** The first `limit` organizations, not deleted, in the caller's scope, by name. */
export async function listOrganizationsInScope(
  db: Database,
  who: CallContext,
  limit: number,
): Promise<OrganizationRow[]> {
  return db.read<OrganizationRow>(
    who,
    sql`SELECT ${columns} FROM organizations
        WHERE deleted_at IS NULL AND ${organizationsInScope(who.caller)} ORDER BY name, id LIMIT ${limit}`,
  );
}

/**
 * Organizations, not deleted, in a partner caller's scope: which of the `wanted` there are, and the first `limit` as
 * registered (index organizations_registered).
 */
export async function orderableOrganizations(
  tx: Tx,
  caller: Caller,
  wanted: readonly string[],
  limit: number,
): Promise<{ existing: string[]; registered: string[] }> {
  const inScope = sql`deleted_at IS NULL AND ${organizationsInScope(caller)}`;
  const [existing, registered] = await Promise.all([
    tx.query<{ id: string }>(sql`SELECT id FROM organizations WHERE id = ANY (${wanted}::uuid[]) AND ${inScope}`),
    tx.query<{ id: string }>(sql`SELECT id FROM organizations WHERE ${inScope} ORDER BY created_at, id LIMIT ${limit}`),
  ]);
  return { existing: existing.map(({ id }) => id), registered: registered.map(({ id }) => id) };
}

/** The fields that changes are decided on and audit rows show. */
export function organizationFields(row: OrganizationRow): OrganizationFields {
  return {
    name: row.name,
    slug: row.slug,
    type: row.type,
    status: row.status,
    maxDevices: row.max_devices,
    settings: row.settings,
    ssoConfig: row.sso_config,
    billingContact: row.billing_contact,
    contractStart: row.contract_start,
    contractEnd: row.contract_end,
  };
}

async function writtenRow(tx: Tx, statement: Query): Promise<OrganizationRow> {
  try {
    const [row] = await tx.query<OrganizationRow>(statement);
    if (!row) throw new Error("an organization that was locked has gone");
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "organizations_slug")) {
      throw new AppError("slug_taken", "Slug is already in use", { cause: error });
    }
    throw error;
  }
}
