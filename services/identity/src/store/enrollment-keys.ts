import { type Database, sql, type Tx } from "@muster/db";
import { conditions, nonEmpty } from "@muster/db/builder";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import type { NewEnrollmentKey, Pepper } from "../rules/enrollment-key.ts";
import type { KeyMaterial } from "../rules/key-material.ts";
import { ofTenant, type Tenant } from "./api-keys.ts";

export type EnrollmentKeyRow = {
  id: string;
  org_id: string;
  partner_id: string;
  site_id: string | null;
  name: string;
  key_prefix: string;
  usage_count: number;
  max_usage: number | null;
  reinstall: string;
  expires_at: Date;
  created_by: string;
  created_at: Date;
};

// The displayed usage is the number of successful enrollments; the limit also counts those in flight.
const columns = sql`id, org_id, partner_id, site_id, name, key_prefix, confirmed_count AS usage_count, max_usage, reinstall, expires_at, created_by,
  created_at`;

type Owner = { orgId: string; partnerId: string; createdBy: string };

/** Inserts an unused key. */
export async function insertEnrollmentKey(
  tx: Tx,
  id: string,
  key: NewEnrollmentKey & Owner,
  material: KeyMaterial & { pepper: Pepper },
  now: Date,
): Promise<EnrollmentKeyRow> {
  return only(
    await tx.query<EnrollmentKeyRow>(sql`
      INSERT INTO enrollment_keys (id, org_id, partner_id, site_id, name, key_prefix, digest, pepper_id, max_usage,
                                   reinstall, expires_at, created_by, created_at, updated_at)
      VALUES (${id}, ${key.orgId}, ${key.partnerId}, ${key.siteId}, ${key.name}, ${material.prefix}, ${material.digest},
              ${material.pepper.id}, ${key.maxUsage}, ${key.reinstall}, ${key.expiresAt}, ${key.createdBy}, ${now}, ${now})
      RETURNING ${columns}`),
  );
}

/** One key, or null when missing or not visible to the caller. */
export async function findEnrollmentKey(db: Database, who: CallContext, id: string): Promise<EnrollmentKeyRow | null> {
  const [row] = await db.read<EnrollmentKeyRow>(
    who,
    sql`SELECT ${columns} FROM enrollment_keys t WHERE id = ${id} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** That key, locked until the end of the transaction. */
export async function lockEnrollmentKey(tx: Tx, who: CallContext, id: string): Promise<EnrollmentKeyRow | null> {
  const [row] = await tx.query<EnrollmentKeyRow>(
    sql`SELECT ${columns} FROM enrollment_keys t WHERE id = ${id} AND ${visibleTo(who.caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** A page of keys, newest first (indexes enrollment_keys_…newest, …ending). */
export function listEnrollmentKeys(
  db: Database,
  who: CallContext,
  { orgId, expired }: { orgId: string | null; expired: boolean | null },
  now: Date,
  page: Page,
): Promise<ListPage<EnrollmentKeyRow>> {
  const where = conditions((rows) => {
    const wanted = rows.where(nonEmpty({ org_id: orgId }));
    return expired === null ? wanted : wanted.where("expires_at", expired ? "<=" : ">", now);
  });
  return readNewestPage<EnrollmentKeyRow>(db, who, { table: sql`enrollment_keys`, columns, where }, page);
}

/** New material for a locked key, unused; uses in flight of the old one are never returned to it. */
export async function rotateEnrollmentKey(
  tx: Tx,
  id: string,
  material: KeyMaterial & { pepper: Pepper },
  limits: { maxUsage: number | null; expiresAt: Date },
  now: Date,
): Promise<EnrollmentKeyRow> {
  return only(
    await tx.query<EnrollmentKeyRow>(sql`
      UPDATE enrollment_keys
      SET key_prefix = ${material.prefix}, digest = ${material.digest}, pepper_id = ${material.pepper.id},
          usage_count = 0, confirmed_count = 0, max_usage = ${limits.maxUsage}, expires_at = ${limits.expiresAt},
          generation = generation + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`),
  );
}

/** Removes a locked key; enrollments in flight may end. */
export async function deleteEnrollmentKey(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM enrollment_keys t WHERE id = ${id}`);
}

/** Ends every key of a tenant that could still be used; returns their number. */
export function endTenantEnrollmentKeys(tx: Tx, tenant: Tenant, now: Date): Promise<number> {
  return tx.execute(sql`
    UPDATE enrollment_keys SET expires_at = ${now}, updated_at = ${now} WHERE ${ofTenant(tenant)} AND expires_at > ${now}`);
}

/** Keys of a deleted site enroll into the organization from now on. */
export async function forgetSite(tx: Tx, siteId: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE enrollment_keys SET site_id = NULL, updated_at = ${now} WHERE site_id = ${siteId}`);
}

function only(rows: EnrollmentKeyRow[]): EnrollmentKeyRow {
  const [row] = rows;
  if (!row) throw new Error("an enrollment key that was locked has gone");
  return row;
}
