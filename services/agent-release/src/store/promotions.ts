import { sql, type Tx } from "@muster/db";
import type { Component } from "../rules/component.ts";

export type PromotionRow = {
  component: Component;
  release_id: string | null;
  version: string | null;
  previous_id: string | null;
  promoted_at: Date | null;
};

/**
 * The promoted versions; locked, so that two promotions of a component are serialised. Read by a separate statement:
 * the one that waited for the lock does not see a release that was registered meanwhile.
 */
export async function lockPromotion(tx: Tx, component: Component): Promise<PromotionRow> {
  await tx.execute(sql`SELECT FROM promotion WHERE component = ${component} FOR UPDATE`);
  const [row] = await tx.query<PromotionRow>(sql`
    SELECT p.component, p.release_id, p.previous_id, p.promoted_at,
           (SELECT r.version FROM release r WHERE r.id = p.release_id) AS version
    FROM promotion p WHERE p.component = ${component}`);
  if (!row) throw new Error(`there is no promotion row of component ${component}`);
  return row;
}

export async function setPromotion(
  tx: Tx,
  component: Component,
  { releaseId, by, at }: { releaseId: string; by: string; at: Date },
): Promise<void> {
  await tx.execute(sql`
    UPDATE promotion
    SET previous_id = CASE WHEN release_id = ${releaseId}::uuid THEN previous_id ELSE release_id END,
        release_id = ${releaseId}::uuid, promoted_at = ${at}, promoted_by = ${by}
    WHERE component = ${component}`);
}

/** Component to promoted version. */
export async function promotedVersions(tx: Tx): Promise<Record<string, string>> {
  const rows = await tx.query<{ component: Component; version: string }>(sql`
    SELECT p.component, r.version FROM promotion p JOIN release r ON r.id = p.release_id`);
  return Object.fromEntries(rows.map(({ component, version }) => [component, version]));
}
