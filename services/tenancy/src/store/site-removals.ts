import { type Database, type Query, sql, type Tx } from "@muster/db";
import { inIndexOrder } from "./device-page.ts";

/** Devices that leave a deleted site in one transaction, which locks them. */
const sliceRows = 500;

/** Whether the site of a row is not deleted; null for a row without a site. */
export const siteNotRemoved: Query = sql`site_id NOT IN (SELECT r.id FROM site_removals r)`;

/** `devices.site_id` as readers see it: null as soon as the site is deleted. */
export const shownSite: Query = sql`CASE WHEN ${siteNotRemoved} THEN site_id END`;

/** Removes up to 500 devices from a deleted site (index devices_by_site), and forgets the site when it has none. */
export async function leaveSite(tx: Tx, siteId: string): Promise<number> {
  await inIndexOrder(tx);
  // Locked in the order of ids, as by every change of several devices.
  const left = await tx.execute(sql`
    WITH slice AS MATERIALIZED (
      SELECT id FROM devices WHERE id = ANY (ARRAY(
        SELECT id FROM devices WHERE site_id = ${siteId}::uuid ORDER BY created_at DESC, id DESC LIMIT ${sliceRows}))
      ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE devices SET site_id = NULL, version = version + 1, updated_at = clock_timestamp()
    WHERE id IN (SELECT id FROM slice) AND site_id = ${siteId}::uuid`);
  await tx.execute(sql`
    DELETE FROM site_removals
    WHERE id = ${siteId}::uuid AND NOT EXISTS (SELECT FROM devices WHERE site_id = ${siteId}::uuid)`);
  return left;
}

/** Whether devices still refer to a deleted site. */
export async function isAnySiteRemoved(db: Database, who: Parameters<Database["read"]>[0]): Promise<boolean> {
  return (await db.read(who, sql`SELECT FROM site_removals LIMIT 1`)).length > 0;
}

/** As leaveSite, for the deleted site that no other transaction works on and that waits longest; null without one. */
export async function leaveNextSite(tx: Tx): Promise<number | null> {
  const [site] = await tx.query<{ id: string }>(
    sql`SELECT id FROM site_removals ORDER BY deleted_at, id LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  return site ? leaveSite(tx, site.id) : null;
}
