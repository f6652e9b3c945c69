import { type Database, isUniqueViolation, sql, type Tx } from "@muster/db";
import { AppError, type CallContext, decodeCursor, encodeCursor, type Page } from "@muster/kit";
import type { NewPartner } from "../rules/partner.ts";

export type PartnerRow = {
  id: string;
  name: string;
  slug: string;
  type: string;
  plan: string;
  status: string;
  max_organizations: number | null;
  max_devices: number | null;
  settings: Record<string, unknown>;
  sso_config: Record<string, unknown>;
  billing_email: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

/** Inserts an active partner. Throws `slug_taken` when another living partner has the slug. */
export async function insertPartner(tx: Tx, id: string, partner: NewPartner, now: Date): Promise<PartnerRow> {
  try {
    const [row] = await tx.query<PartnerRow>(sql`
      INSERT INTO partners (id, name, slug, type, plan, status, max_organizations, max_devices, billing_email,
                            created_at, updated_at)
      VALUES (${id}, ${partner.name}, ${partner.slug}, ${partner.type}, ${partner.plan}, 'active',
              ${partner.maxOrganizations}, ${partner.maxDevices}, ${partner.billingEmail}, ${now}, ${now})
      RETURNING id, name, slug, type, plan, status, max_organizations, max_devices, settings, sso_config,
                billing_email, version, created_at, updated_at, deleted_at`);
    return row as PartnerRow;
  } catch (error) {
    if (isUniqueViolation(error, "partners_slug")) {
      throw new AppError("slug_taken", "Slug is already in use", { cause: error });
    }
    throw error;
  }
}

/** One living partner, or null when it is missing, deleted or out of the caller's sight. */
export async function findPartner(db: Database, who: CallContext, id: string): Promise<PartnerRow | null> {
  const [row] = await db.read<PartnerRow>(
    who,
    sql`
      SELECT id, name, slug, type, plan, status, max_organizations, max_devices, settings, sso_config,
             billing_email, version, created_at, updated_at, deleted_at
      FROM partners WHERE id = ${id} AND deleted_at IS NULL`,
  );
  return row ?? null;
}

/** A page of living partners by name (index partners_by_name), and their number unless the count is skipped. */
export async function listPartners(
  db: Database,
  who: CallContext,
  page: Page,
): Promise<{ rows: PartnerRow[]; total: number | null; nextCursor: string }> {
  const [afterName, afterId] = page.cursor ? decodeCursor(page.cursor, 2) : [null, null];
  const offset = page.cursor ? 0 : (page.page - 1) * page.limit;
  const rows = await db.read<PartnerRow & { total: number | null }>(
    who,
    sql`
      SELECT id, name, slug, type, plan, status, max_organizations, max_devices, settings, sso_config,
             billing_email, version, created_at, updated_at, deleted_at
      FROM partners
      WHERE deleted_at IS NULL AND (${afterName}::text IS NULL OR (name, id) > (${afterName}::text, ${afterId}::uuid))
      ORDER BY name, id LIMIT ${page.limit + 1} OFFSET ${offset}`,
  );
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    total: page.skipCount ? null : await countPartners(db, who),
    nextCursor: rows.length > page.limit && last ? encodeCursor([last.name, last.id]) : "",
  };
}

async function countPartners(db: Database, who: CallContext): Promise<number> {
  const [row] = await db.read<{ total: number }>(
    who,
    sql`SELECT count(*) AS total FROM partners WHERE deleted_at IS NULL`,
  );
  return row?.total ?? 0;
}
