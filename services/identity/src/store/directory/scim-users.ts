import { type Database, type Query, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { DirectoryRow } from "../../rules/directory/directory.ts";
import type { ScimDocument } from "../../rules/scim/document.ts";

const system = { caller: systemCaller("identity") };

/** A user as its directory knows it, with the state of its account. */
export type ScimUserRow = {
  user_id: string;
  directory_id: string;
  user_name_key: string;
  external_id: string | null;
  emails: string[];
  active: boolean;
  document: ScimDocument;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`t.user_id, t.directory_id, t.user_name_key, t.external_id, t.emails, t.active, t.document,
  t.version::int AS version, t.created_at, t.updated_at`;

type Owned = Pick<DirectoryRow, "id" | "partner_id" | "org_id">;
export type ScimUserValues = Pick<ScimUserRow, "user_name_key" | "external_id" | "emails" | "active" | "document">;

export async function insertScimUser(
  tx: Tx,
  directory: Owned,
  userId: string,
  u: ScimUserValues,
  now: Date,
): Promise<ScimUserRow> {
  const [row] = await tx.query<ScimUserRow>(sql`
    INSERT INTO scim_users AS t (user_id, directory_id, partner_id, org_id, user_name_key, external_id, emails, active,
                                 document, created_at, updated_at)
    VALUES (${userId}, ${directory.id}, ${directory.partner_id}, ${directory.org_id}, ${u.user_name_key}, ${u.external_id},
            ${u.emails}::text[], ${u.active}, ${JSON.stringify(u.document)}::jsonb, ${now}, ${now})
    RETURNING ${columns}`);
  return written(row);
}

export async function writeScimUser(tx: Tx, userId: string, u: ScimUserValues, now: Date): Promise<ScimUserRow> {
  const [row] = await tx.query<ScimUserRow>(sql`
    UPDATE scim_users t SET user_name_key = ${u.user_name_key}, external_id = ${u.external_id},
      emails = ${u.emails}::text[], active = ${u.active}, document = ${JSON.stringify(u.document)}::jsonb,
      version = t.version + 1, updated_at = ${now}
    WHERE t.user_id = ${userId} RETURNING ${columns}`);
  return written(row);
}

/** A user of a directory; null when it has none of this id. */
export async function readScimUser(tx: Tx, directoryId: string, userId: string): Promise<ScimUserRow | null> {
  const [row] = await tx.query<ScimUserRow>(
    sql`SELECT ${columns} FROM scim_users t WHERE t.user_id = ${userId} AND t.directory_id = ${directoryId}`,
  );
  return row ?? null;
}

export async function findScimUser(db: Database, directoryId: string, userId: string): Promise<ScimUserRow | null> {
  const [row] = await db.read<ScimUserRow>(
    system,
    sql`SELECT ${columns} FROM scim_users t WHERE t.user_id = ${userId} AND t.directory_id = ${directoryId}`,
  );
  return row ?? null;
}

/** Which attribute of a new or changed user another user of the directory has (indexes scim_users_name, …_external). */
export async function takenBy(
  tx: Tx,
  directoryId: string,
  { user_name_key, external_id }: Pick<ScimUserValues, "user_name_key" | "external_id">,
  exceptId: string | null,
): Promise<"userName" | "externalId" | null> {
  const except = exceptId === null ? sql`true` : sql`t.user_id <> ${exceptId}`;
  const named = sql`SELECT 'userName' AS field FROM scim_users t
    WHERE t.directory_id = ${directoryId} AND t.user_name_key = ${user_name_key} AND ${except}`;
  const identified = sql`SELECT 'externalId' AS field FROM scim_users t
    WHERE t.directory_id = ${directoryId} AND t.external_id = ${external_id}::text AND ${except}`;
  const [row] = await tx.query<{ field: "userName" | "externalId" }>(sql`${named} UNION ALL ${identified} LIMIT 1`);
  return row?.field ?? null;
}

/** A page of a directory's users, and their number. */
export async function listScimUsers(
  db: Database,
  directoryId: string,
  { where, order, offset, limit }: { where: Query; order: Query; offset: number; limit: number },
): Promise<{ rows: ScimUserRow[]; total: number }> {
  const all = sql`FROM scim_users t WHERE t.directory_id = ${directoryId} AND (${where})`;
  const rows =
    limit === 0
      ? []
      : await db.read<ScimUserRow>(
          system,
          sql`SELECT ${columns} ${all} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
        );
  // A short first page is counted by itself.
  if (offset === 0 && rows.length < limit) return { rows, total: rows.length };
  const [counted] = await db.read<{ n: number }>(system, sql`SELECT count(*)::int AS n ${all}`);
  return { rows, total: counted?.n ?? 0 };
}

export type GroupOfUser = { user_id: string; id: string; display_name: string };

/** Groups that one user is shown with, and that one page has. */
const groupsShown = 2_000;
const groupsPerPage = 10_000;

/** The groups of users, by name, and for how many of these users, from the first, they are complete. */
export async function groupsOfPage(
  db: Database,
  userIds: readonly string[],
): Promise<{ groups: GroupOfUser[]; complete: number }> {
  const groups = await db.read<GroupOfUser>(
    system,
    sql`SELECT w.user_id, f.id, f.display_name
        FROM unnest(${[...userIds]}::uuid[]) WITH ORDINALITY AS w (user_id, position), LATERAL (
          SELECT g.id, g.display_name FROM scim_members m JOIN scim_groups g ON g.id = m.group_id
          WHERE m.user_id = w.user_id ORDER BY g.display_name, g.id LIMIT ${groupsShown}) f
        ORDER BY w.position, f.display_name, f.id LIMIT ${groupsPerPage}`,
  );
  const last = groups.length < groupsPerPage ? undefined : groups.at(-1)?.user_id;
  return { groups, complete: last === undefined ? userIds.length : userIds.indexOf(last) };
}

/** The directory that manages a user; null for none. */
export async function managingDirectory(tx: Tx, userId: string): Promise<{ id: string; name: string } | null> {
  const [row] = await tx.query<{ id: string; name: string }>(
    sql`SELECT d.id, d.name FROM scim_users t JOIN directories d ON d.id = t.directory_id WHERE t.user_id = ${userId}`,
  );
  return row ?? null;
}

function written(row: ScimUserRow | undefined): ScimUserRow {
  if (row === undefined) throw new Error("a user of a directory that was locked has gone");
  return row;
}
