import { type Database, type Query, sql, type Tx } from "@muster/db";
import { systemCaller, zeroUuid } from "@muster/kit";
import type { DirectoryRow } from "../../rules/directory/directory.ts";

const system = { caller: systemCaller("identity") };

export type ScimGroupRow = {
  id: string;
  directory_id: string;
  display_name: string;
  external_id: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`t.id, t.directory_id, t.display_name, t.external_id, t.version::int AS version, t.created_at,
  t.updated_at`;

type Owned = Pick<DirectoryRow, "id" | "partner_id" | "org_id">;
export type ScimGroupValues = { displayName: string; externalId: string | null };

export async function insertScimGroup(
  tx: Tx,
  directory: Owned,
  id: string,
  g: ScimGroupValues,
  now: Date,
): Promise<ScimGroupRow> {
  const [row] = await tx.query<ScimGroupRow>(sql`
    INSERT INTO scim_groups AS t (id, directory_id, partner_id, org_id, display_name, display_name_key, external_id,
                                  created_at, updated_at)
    VALUES (${id}, ${directory.id}, ${directory.partner_id}, ${directory.org_id}, ${g.displayName},
            ${g.displayName.toLowerCase()}, ${g.externalId}, ${now}, ${now})
    RETURNING ${columns}`);
  return written(row);
}

/** Writes a locked group; its version rises with each change, of its members, too. */
export async function writeScimGroup(tx: Tx, id: string, g: ScimGroupValues, now: Date): Promise<ScimGroupRow> {
  const [row] = await tx.query<ScimGroupRow>(sql`
    UPDATE scim_groups t SET display_name = ${g.displayName}, display_name_key = ${g.displayName.toLowerCase()},
      external_id = ${g.externalId}, version = t.version + 1, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${columns}`);
  return written(row);
}

/** A group of a directory, locked until the end of the transaction; null when it has none of this id. */
export async function lockScimGroup(tx: Tx, directoryId: string, id: string): Promise<ScimGroupRow | null> {
  const [row] = await tx.query<ScimGroupRow>(
    sql`SELECT ${columns} FROM scim_groups t WHERE t.id = ${id} AND t.directory_id = ${directoryId} FOR UPDATE OF t`,
  );
  return row ?? null;
}

export async function findScimGroup(db: Database, directoryId: string, id: string): Promise<ScimGroupRow | null> {
  const [row] = await db.read<ScimGroupRow>(
    system,
    sql`SELECT ${columns} FROM scim_groups t WHERE t.id = ${id} AND t.directory_id = ${directoryId}`,
  );
  return row ?? null;
}

export async function deleteScimGroup(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM scim_groups WHERE id = ${id}`);
}

/** Which attribute of a new or changed group another group of the directory has. */
export async function groupTakenBy(
  tx: Tx,
  directoryId: string,
  { displayName, externalId }: ScimGroupValues,
  exceptId: string | null,
): Promise<"displayName" | "externalId" | null> {
  const except = exceptId === null ? sql`true` : sql`t.id <> ${exceptId}`;
  const named = sql`SELECT 'displayName' AS field FROM scim_groups t
    WHERE t.directory_id = ${directoryId} AND t.display_name_key = ${displayName.toLowerCase()} AND ${except}`;
  const identified = sql`SELECT 'externalId' AS field FROM scim_groups t
    WHERE t.directory_id = ${directoryId} AND t.external_id = ${externalId}::text AND ${except}`;
  const [row] = await tx.query<{ field: "displayName" | "externalId" }>(sql`${named} UNION ALL ${identified} LIMIT 1`);
  return row?.field ?? null;
}

/** A page of a directory's groups, and their number. */
export async function listScimGroups(
  db: Database,
  directoryId: string,
  { where, order, offset, limit }: { where: Query; order: Query; offset: number; limit: number },
): Promise<{ rows: ScimGroupRow[]; total: number }> {
  const all = sql`FROM scim_groups t WHERE t.directory_id = ${directoryId} AND (${where})`;
  const rows =
    limit === 0
      ? []
      : await db.read<ScimGroupRow>(
          system,
          sql`SELECT ${columns} ${all} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
        );
  if (offset === 0 && rows.length < limit) return { rows, total: rows.length };
  const [counted] = await db.read<{ n: number }>(system, sql`SELECT count(*)::int AS n ${all}`);
  return { rows, total: counted?.n ?? 0 };
}

/** Ids of a group's members after one, in their order (the primary key of scim_members). */
export async function membersAfter(
  db: Database,
  groupId: string,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const rows = await db.read<{ user_id: string }>(
    system,
    sql`SELECT m.user_id FROM scim_members m
        WHERE m.group_id = ${groupId} AND m.user_id > ${after ?? zeroUuid}::uuid ORDER BY m.user_id LIMIT ${limit}`,
  );
  return rows.map(({ user_id }) => user_id);
}

/** Members with which a group is listed; one with more of them is listed without. */
export const membersListed = 2_000;

/** Up to `limit` members of each of these groups. */
export async function firstMembers(
  db: Database,
  groupIds: readonly string[],
  limit: number,
): Promise<Map<string, string[]>> {
  const rows = await db.read<{ id: string; members: string[] }>(
    system,
    sql`SELECT g.id, ARRAY(SELECT m.user_id FROM scim_members m WHERE m.group_id = g.id ORDER BY m.user_id LIMIT ${limit})
          AS members FROM unnest(${[...groupIds]}::uuid[]) AS g (id)`,
  );
  return new Map(rows.map(({ id, members }) => [id, members]));
}

/** The first of these ids that is no user of the directory; null when all are. */
export async function unknownMember(tx: Tx, directoryId: string, ids: readonly string[]): Promise<string | null> {
  if (ids.length === 0) return null;
  const [row] = await tx.query<{ id: string }>(sql`
    SELECT w.id FROM unnest(${[...ids]}::uuid[]) AS w (id)
    WHERE NOT EXISTS (SELECT FROM scim_users u WHERE u.user_id = w.id AND u.directory_id = ${directoryId}) LIMIT 1`);
  return row?.id ?? null;
}

/** Adds members; returns those that were none before. */
export async function addMembers(tx: Tx, directory: Owned, groupId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ user_id: string }>(sql`
    INSERT INTO scim_members (group_id, user_id, directory_id, partner_id, org_id)
    SELECT DISTINCT ${groupId}::uuid, w.id, ${directory.id}::uuid, ${directory.partner_id}::uuid, ${directory.org_id}::uuid
    FROM unnest(${[...ids]}::uuid[]) AS w (id)
    ON CONFLICT DO NOTHING RETURNING user_id`);
  return rows.map(({ user_id }) => user_id);
}

/** Removes members; returns those that were some. */
export async function removeMembers(tx: Tx, groupId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ user_id: string }>(sql`
    DELETE FROM scim_members WHERE group_id = ${groupId} AND user_id = ANY (${[...ids]}::uuid[]) RETURNING user_id`);
  return rows.map(({ user_id }) => user_id);
}

/** Removes all members but these; returns those that were removed. */
export async function keepMembers(tx: Tx, groupId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ user_id: string }>(sql`
    DELETE FROM scim_members m WHERE m.group_id = ${groupId}
      AND NOT EXISTS (SELECT FROM unnest(${[...ids]}::uuid[]) AS w (id) WHERE w.id = m.user_id)
    RETURNING m.user_id`);
  return rows.map(({ user_id }) => user_id);
}

function written(row: ScimGroupRow | undefined): ScimGroupRow {
  if (row === undefined) throw new Error("a group that was locked has gone");
  return row;
}
