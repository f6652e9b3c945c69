import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, systemCaller } from "@muster/kit";

export type BrandingRow = { logo_url: string | null; accent_color: string | null; headline: string | null };

const system = { caller: systemCaller("identity") };
const none: BrandingRow = { logo_url: null, accent_color: null, headline: null };

/** Of the caller's partner; empty when it has none. */
export async function findBranding(
  db: Database,
  who: Pick<CallContext, "caller">,
  partnerId: string,
): Promise<BrandingRow> {
  const [row] = await db.read<BrandingRow>(
    who,
    sql`SELECT logo_url, accent_color, headline FROM login_branding WHERE partner_id = ${partnerId}`,
  );
  return row ?? none;
}

/** Of any partner, for the pages of its customers. */
export const brandingOf = (db: Database, partnerId: string): Promise<BrandingRow> =>
  findBranding(db, system, partnerId);

export async function putBranding(tx: Tx, partnerId: string, b: BrandingRow, now: Date): Promise<void> {
  await tx.execute(sql`
    INSERT INTO login_branding (partner_id, logo_url, accent_color, headline, updated_at)
    VALUES (${partnerId}, ${b.logo_url}, ${b.accent_color}, ${b.headline}, ${now})
    ON CONFLICT (partner_id) DO UPDATE SET logo_url = excluded.logo_url, accent_color = excluded.accent_color,
      headline = excluded.headline, updated_at = excluded.updated_at`);
}

/**
 * The one active partner, not deleted, of the deployment with its branding; null when there is none, or more than one.
 */
export async function onlyPartner(db: Database): Promise<{ partnerId: string; branding: BrandingRow } | null> {
  const rows = await db.read<BrandingRow & { id: string }>(
    system,
    sql`SELECT n.id, b.logo_url, b.accent_color, b.headline
        FROM tenant n LEFT JOIN login_branding b ON b.partner_id = n.id
        WHERE n.kind = 'partner' AND NOT n.deleted AND n.status = 'active' LIMIT 2`,
  );
  const [row] = rows;
  if (!row || rows.length > 1) return null;
  const { id, ...branding } = row;
  return { partnerId: id, branding };
}
