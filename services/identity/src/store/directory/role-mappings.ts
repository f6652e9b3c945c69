import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { DirectoryRow } from "../../rules/directory/directory.ts";

export type MappingRow = {
  id: string;
  group_id: string | null;
  group_name: string | null;
  claim: string | null;
  role_id: string;
  role: string;
  site_ids: string[] | null;
  granted_by: string | null;
  scope: string;
  permissions: string[];
  partner_id: string | null;
  org_id: string | null;
};

const rowsOf = (directoryId: string) => sql`
  SELECT m.id, m.group_id, g.display_name AS group_name, m.claim, m.role_id, coalesce(r.key, r.name) AS role, m.site_ids,
         m.granted_by, r.scope, r.permissions, r.partner_id, r.org_id
  FROM role_mappings m JOIN roles r ON r.id = m.role_id LEFT JOIN scim_groups g ON g.id = m.group_id
  WHERE m.directory_id = ${directoryId} ORDER BY m.position`;

/** The mapping of a directory in its order, with each row's role. */
export const readMappings = (tx: Tx, directoryId: string): Promise<MappingRow[]> =>
  tx.query<MappingRow>(rowsOf(directoryId));

export const findMappings = (db: Database, who: Pick<CallContext, "caller">, directoryId: string) =>
  db.read<MappingRow>(who, rowsOf(directoryId));

export type NewMapping = {
  id: string;
  groupId: string | null;
  claim: string | null;
  roleId: string;
  siteIds: readonly string[] | null;
  grantedBy: string | null;
};

/** Replaces the mapping of a directory. */
export async function writeMappings(
  tx: Tx,
  directory: Pick<DirectoryRow, "id" | "partner_id" | "org_id">,
  rows: readonly NewMapping[],
  now: Date,
): Promise<void> {
  await tx.execute(sql`DELETE FROM role_mappings WHERE directory_id = ${directory.id}`);
  for (const [position, m] of rows.entries()) {
    await tx.execute(sql`
      INSERT INTO role_mappings (id, directory_id, partner_id, org_id, position, group_id, claim, role_id, site_ids,
                                 granted_by, created_at)
      VALUES (${m.id}, ${directory.id}, ${directory.partner_id}, ${directory.org_id}, ${position}, ${m.groupId}, ${m.claim},
              ${m.roleId}, ${m.siteIds === null ? null : [...m.siteIds]}::uuid[], ${m.grantedBy}, ${now})`);
  }
}

/** Whether a mapping names a group. */
export async function isMapped(tx: Tx, groupId: string): Promise<boolean> {
  const rows = await tx.query(sql`SELECT FROM role_mappings WHERE group_id = ${groupId} LIMIT 1`);
  return rows.length > 0;
}

/** What decides a user's role, and what the user has now. */
export type StandingRow = {
  user_id: string;
  email: string;
  name: string;
  partner_id: string;
  org_id: string | null;
  scope: "partner" | "organization";
  status: string;
  role_id: string;
  role: string;
  permissions: string[];
  org_access: string;
  site_restricted: boolean;
  site_ids: string[];
  version: number;
  /** As the directory says; true for a user of its provider whom it does not manage. */
  active: boolean;
  is_managed: boolean;
  group_ids: string[];
  claims: string[];
};

/** Users of a directory, or of its provider, with their groups and the claims of their last sign-in; locked. */
export const lockStandings = (
  tx: Tx,
  { id, provider_id }: Pick<DirectoryRow, "id" | "provider_id">,
  userIds: readonly string[],
): Promise<StandingRow[]> =>
  tx.query<StandingRow>(sql`
    SELECT u.id AS user_id, u.email, u.name, u.partner_id, u.org_id, u.scope, u.status, u.role_id,
           coalesce(r.key, r.name) AS role, r.permissions, u.org_access, u.site_restricted, u.version,
           (SELECT coalesce(array_agg(s.site_id ORDER BY s.site_id), '{}') FROM user_sites s WHERE s.user_id = u.id) AS site_ids,
           coalesce(t.active, true) AS active, t.user_id IS NOT NULL AS is_managed,
           (SELECT coalesce(array_agg(m.group_id), '{}') FROM scim_members m
            WHERE m.user_id = u.id AND m.directory_id = ${id}) AS group_ids,
           coalesce((SELECT i.claim_groups FROM sso_identities i
                     WHERE i.user_id = u.id AND i.provider_id = ${provider_id}::uuid), '{}') AS claims
    FROM users u JOIN roles r ON r.id = u.role_id
    LEFT JOIN scim_users t ON t.user_id = u.id AND t.directory_id = ${id}
    WHERE u.id = ANY (${[...userIds]}::uuid[]) ORDER BY u.id FOR UPDATE OF u`);

/** Everybody whom a directory manages. */
export async function managedUserIds(tx: Tx, directoryId: string): Promise<string[]> {
  const rows = await tx.query<{ user_id: string }>(
    sql`SELECT user_id FROM scim_users WHERE directory_id = ${directoryId} ORDER BY user_id`,
  );
  return rows.map(({ user_id }) => user_id);
}

/** Writes role, sites and status of a locked user; returns their new version. */
export async function writeStanding(
  tx: Tx,
  userId: string,
  s: { partnerId: string; orgId: string | null; roleId: string; siteIds: readonly string[] | null; status: string },
  now: Date,
): Promise<number> {
  const [row] = await tx.query<{ version: number }>(sql`
    UPDATE users SET role_id = ${s.roleId}, site_restricted = ${s.siteIds !== null}, status = ${s.status},
      version = version + 1, updated_at = ${now}
    WHERE id = ${userId} RETURNING version`);
  await tx.execute(sql`DELETE FROM user_sites WHERE user_id = ${userId}`);
  if (s.siteIds !== null && s.siteIds.length > 0) {
    await tx.execute(sql`
      INSERT INTO user_sites (user_id, site_id, partner_id, org_id)
      SELECT ${userId}, site_id, ${s.partnerId}, ${s.orgId} FROM unnest(${[...s.siteIds]}::uuid[]) AS site_id`);
  }
  if (!row) throw new Error("a user that was locked has gone");
  return row.version;
}

/** Whether another active user of an organization has all permissions of its administrators, for all sites. */
export async function hasOtherAdministrator(
  tx: Tx,
  { orgId, userId, permissions }: { orgId: string; userId: string; permissions: readonly string[] },
): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT FROM users u JOIN roles r ON r.id = u.role_id
    WHERE u.org_id = ${orgId} AND u.id <> ${userId} AND u.status = 'active' AND NOT u.site_restricted
      AND r.permissions @> ${[...permissions]}::text[] LIMIT 1`);
  return rows.length > 0;
}
