import { type Database, isUniqueViolation, sql, type Tx } from "@muster/db";
import type { CallContext, Caller, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { DirectoryRow } from "../../rules/directory/directory.ts";
import type { DirectoryFields } from "../../rules/directory/directory-fields.ts";
import type { Owner } from "../../rules/sso/provider.ts";
import { ownerVisibleTo } from "../sso/providers.ts";

/** Columns of a directory `t`, with its tokens, newest first. */
export const directoryColumns = sql`
  t.id, t.partner_id, t.org_id, t.name, t.preset, t.status, t.provider_id, t.default_role_id, t.default_role_by,
  t.created_by, t.created_at, t.updated_at,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'prefix', k.prefix, 'createdAt', k.created_at,
                                                'expiresAt', k.expires_at) ORDER BY k.created_at DESC, k.id DESC), '[]')
   FROM directory_tokens k WHERE k.directory_id = t.id AND (k.expires_at IS NULL OR k.expires_at > now())) AS tokens,
  (SELECT jsonb_build_object('startedAt', c.started_at, 'lastAt', c.last_at, 'requests', c.requests, 'refused', c.refused,
                             'created', c.created, 'changed', c.changed, 'deleted', c.deleted)
   FROM directory_cycles c WHERE c.directory_id = t.id) AS last_cycle,
  (SELECT count(*)::int FROM pending_roles p WHERE p.directory_id = t.id) AS roles_pending`;

export type DirectoryValues = DirectoryFields & { defaultRoleBy: string | null };

/** Inserts a directory without a token. */
export async function insertDirectory(
  tx: Tx,
  d: DirectoryValues & { id: string; owner: Owner; createdBy: string },
  now: Date,
): Promise<DirectoryRow> {
  const [row] = await tx.query<DirectoryRow>(sql`
    INSERT INTO directories AS t (id, partner_id, org_id, name, preset, provider_id, default_role_id, default_role_by,
                                  created_by, created_at, updated_at)
    VALUES (${d.id}, ${d.owner.partnerId}, ${d.owner.orgId}, ${d.name}, ${d.preset}, ${d.providerId}, ${d.defaultRoleId},
            ${d.defaultRoleBy}, ${d.createdBy}, ${now}, ${now})
    RETURNING ${directoryColumns}`);
  return written(row);
}

/** Writes what administrators set. */
export async function writeDirectory(tx: Tx, id: string, d: DirectoryValues, now: Date): Promise<DirectoryRow> {
  const [row] = await tx.query<DirectoryRow>(sql`
    UPDATE directories t SET name = ${d.name}, preset = ${d.preset}, provider_id = ${d.providerId},
      default_role_id = ${d.defaultRoleId}, default_role_by = ${d.defaultRoleBy}, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${directoryColumns}`);
  return written(row);
}

export const isProviderTaken = (error: unknown) => isUniqueViolation(error, "directories_provider");

export async function setDirectoryStatus(tx: Tx, id: string, status: string, now: Date): Promise<DirectoryRow> {
  const [row] = await tx.query<DirectoryRow>(sql`
    UPDATE directories t SET status = ${status}, updated_at = ${now} WHERE t.id = ${id} RETURNING ${directoryColumns}`);
  return written(row);
}

export async function deleteDirectory(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM directories WHERE id = ${id}`);
}

/** One directory, or null when missing or not visible to the caller. */
export async function findDirectory(db: Database, who: CallContext, id: string): Promise<DirectoryRow | null> {
  const [row] = await db.read<DirectoryRow>(
    who,
    sql`SELECT ${directoryColumns} FROM directories t WHERE t.id = ${id} AND ${ownerVisibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** That directory locked until the end of the transaction. */
export async function lockDirectory(tx: Tx, caller: Caller, id: string): Promise<DirectoryRow | null> {
  const [row] = await tx.query<DirectoryRow>(
    sql`SELECT ${directoryColumns} FROM directories t WHERE t.id = ${id} AND ${ownerVisibleTo(caller)} FOR UPDATE OF t`,
  );
  return row ?? null;
}

export function listDirectories(
  db: Database,
  who: CallContext,
  { orgId, ofPartner }: { orgId: string | null; ofPartner: boolean | null },
  page: Page,
): Promise<ListPage<DirectoryRow>> {
  const byOrg = orgId === null ? sql`true` : sql`t.org_id = ${orgId}`;
  const byOwner = ofPartner === null ? sql`true` : ofPartner ? sql`t.org_id IS NULL` : sql`t.org_id IS NOT NULL`;
  const list = {
    table: sql`directories`,
    columns: directoryColumns,
    where: sql`${byOrg} AND ${byOwner}`,
    visible: ownerVisibleTo(who.caller),
  };
  return readNewestPage<DirectoryRow>(db, who, list, page);
}

export async function countDirectories(tx: Tx, { partnerId, orgId }: Owner): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*)::int AS n FROM directories
    WHERE partner_id = ${partnerId} AND org_id IS NOT DISTINCT FROM ${orgId}::uuid`);
  return row?.n ?? 0;
}

function written(row: DirectoryRow | undefined): DirectoryRow {
  if (row === undefined) throw new Error("a directory that was locked has gone");
  return row;
}
