import { type Database, isUniqueViolation, type Query, sql, type Tx } from "@muster/db";
import { AppError, type CallContext, type Page } from "@muster/kit";
import type { JsonObject } from "../rules/fields.ts";
import type { NewPartner, PartnerFields } from "../rules/partner.ts";
import { containing, type NamePage, readNamePage } from "./name-page.ts";

export type PartnerRow = {
  id: string;
  name: string;
  slug: string;
  type: string;
  plan: string;
  status: string;
  max_organizations: number | null;
  max_devices: number | null;
  settings: JsonObject;
  sso_config: JsonObject;
  billing_email: string | null;
  organization_order: string[];
  version: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

const columns = sql`id, name, slug, type, plan, status, max_organizations, max_devices, settings, sso_config,
  billing_email, organization_order, version, created_at, updated_at, deleted_at`;

/** Inserts an active partner. Throws `slug_taken` when another partner, not deleted, has the slug. */
export async function insertPartner(tx: Tx, id: string, partner: NewPartner, now: Date): Promise<PartnerRow> {
  return writtenRow(
    tx,
    sql`
      INSERT INTO partners (id, name, slug, type, plan, status, max_organizations, max_devices, billing_email,
                            created_at, updated_at)
      VALUES (${id}, ${partner.name}, ${partner.slug}, ${partner.type}, ${partner.plan}, 'active',
              ${partner.maxOrganizations}, ${partner.maxDevices}, ${partner.billingEmail}, ${now}, ${now})
      RETURNING ${columns}`,
  );
}

/** One partner, or null when it is missing, deleted or not visible to the caller. */
export async function findPartner(db: Database, who: CallContext, id: string): Promise<PartnerRow | null> {
  const [row] = await db.read<PartnerRow>(
    who,
    sql`SELECT ${columns} FROM partners WHERE id = ${id} AND deleted_at IS NULL`,
  );
  return row ?? null;
}

/** A partner, not deleted, locked until the end of the transaction, or null: limits and merges depend on its fields. */
export async function lockPartner(tx: Tx, id: string): Promise<PartnerRow | null> {
  const [row] = await tx.query<PartnerRow>(
    sql`SELECT ${columns} FROM partners WHERE id = ${id} AND deleted_at IS NULL FOR NO KEY UPDATE`,
  );
  return row ?? null;
}

/** Writes all fields of a locked partner. Throws `slug_taken` when another partner, not deleted, has the slug. */
export async function updatePartner(tx: Tx, id: string, partner: PartnerFields, now: Date): Promise<PartnerRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE partners
      SET name = ${partner.name}, slug = ${partner.slug}, type = ${partner.type}, plan = ${partner.plan},
          status = ${partner.status}, max_organizations = ${partner.maxOrganizations},
          max_devices = ${partner.maxDevices}, settings = ${partner.settings}, sso_config = ${partner.ssoConfig},
          billing_email = ${partner.billingEmail}, version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`,
  );
}

/** Stores the display order of a locked partner's organizations. */
export async function updateOrganizationOrder(tx: Tx, id: string, order: string[], now: Date): Promise<PartnerRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE partners SET organization_order = ${order}::uuid[], version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`,
  );
}

/** Marks a partner as deleted; null when there is none. */
export async function markPartnerDeleted(tx: Tx, id: string, now: Date): Promise<PartnerRow | null> {
  const [row] = await tx.query<PartnerRow>(sql`
    UPDATE partners SET deleted_at = ${now}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} AND deleted_at IS NULL RETURNING ${columns}`);
  return row ?? null;
}

/** A page of partners, not deleted, by name (index partners_by_name), and their number unless the count is skipped. */
export async function listPartners(
  db: Database,
  who: CallContext,
  search: string,
  page: Page,
): Promise<NamePage<PartnerRow>> {
  const where = sql`deleted_at IS NULL AND ${containing(search, sql`name`, sql`slug`)}`;
  const list = { tableName: "partners", table: sql`partners`, columns, where };
  return readNamePage<PartnerRow>(db, who, list, page);
}

/** The fields that changes are decided on and audit rows show. */
export function partnerFields(row: PartnerRow): PartnerFields {
  return {
    name: row.name,
    slug: row.slug,
    type: row.type,
    plan: row.plan,
    status: row.status,
    maxOrganizations: row.max_organizations,
    maxDevices: row.max_devices,
    billingEmail: row.billing_email,
    settings: row.settings,
    ssoConfig: row.sso_config,
  };
}

async function writtenRow(tx: Tx, statement: Query): Promise<PartnerRow> {
  try {
    const [row] = await tx.query<PartnerRow>(statement);
    if (!row) throw new Error("a partner that was locked has gone");
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "partners_slug")) {
      throw new AppError("slug_taken", "Slug is already in use", { cause: error });
    }
    throw error;
  }
}
