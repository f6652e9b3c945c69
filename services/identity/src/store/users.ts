import { type Database, isUniqueViolation, type Query, sql, type Tx } from "@muster/db";
import { conditions, nonEmpty } from "@muster/db/builder";
import { AppError, type CallContext, type Caller, type Page, type Scope } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { ClaimedAddress, Proof } from "../rules/address-owner.ts";
import type { Standing } from "../rules/changed-user.ts";
import type { OrgGrant } from "../rules/delegation.ts";
import type { NewUser } from "../rules/new-user.ts";
import { endApproved } from "./device-authorizations.ts";
import { findByWords, mostFound } from "./user-search.ts";

export type UserRow = {
  id: string;
  email: string;
  /** How the address was proven; null: not at all. */
  email_proof: Proof | null;
  name: string;
  department: string | null;
  scope: Scope;
  partner_id: string | null;
  org_id: string | null;
  role_id: string;
  role: string | null;
  org_access: OrgGrant;
  org_ids: string[];
  site_restricted: boolean;
  site_ids: string[];
  status: string;
  mfa_enabled: boolean;
  last_login_at: Date | null;
  created_at: Date;
  updated_at: Date;
  /** The directory that manages the user. */
  managed_by: { id: string; name: string } | null;
};

const columns = sql`
  t.id, t.email, t.email_proof, t.name, t.department, t.scope, t.partner_id, t.org_id, t.role_id,
  (SELECT coalesce(r.key, r.name) FROM roles r WHERE r.id = t.role_id) AS role,
  t.org_access, t.site_restricted, t.status, t.mfa_enabled, t.last_login_at, t.created_at, t.updated_at,
  (SELECT coalesce(array_agg(g.org_id ORDER BY g.org_id), '{}') FROM user_organizations g WHERE g.user_id = t.id) AS org_ids,
  (SELECT coalesce(array_agg(s.site_id ORDER BY s.site_id), '{}') FROM user_sites s WHERE s.user_id = t.id) AS site_ids,
  (SELECT jsonb_build_object('id', d.id, 'name', d.name) FROM scim_users m JOIN directories d ON d.id = m.directory_id
   WHERE m.user_id = t.id) AS managed_by`;

/** Inserts an invited user with their grants. Throws `email_taken` when the address is in use in the same tenant. */
export async function insertUser(
  tx: Tx,
  id: string,
  { email }: ClaimedAddress,
  user: NewUser,
  now: Date,
): Promise<UserRow> {
  const restricted = user.siteIds.length > 0;
  try {
    await tx.execute(sql`
      INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, org_access, site_restricted, status,
                         created_at, updated_at)
      VALUES (${id}, ${email}, ${user.name}, ${user.scope}, ${user.partnerId}, ${user.orgId}, ${user.roleId},
              ${user.orgAccess}, ${restricted}, 'invited', ${now}, ${now})`);
  } catch (error) {
    throw isUniqueViolation(error, "users_email_in_place") ? emailTaken(error) : error;
  }
  await putGrants(tx, id, { ...user, siteIds: restricted ? user.siteIds : null });
  return readUser(tx, id);
}

/** One user, or null when missing or not visible to the caller. */
export async function findUser(db: Database, who: CallContext, id: string): Promise<UserRow | null> {
  const [row] = await db.read<UserRow>(
    who,
    sql`SELECT ${columns} FROM users t WHERE t.id = ${id} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** That user locked until the end of the transaction. */
export async function lockUser(tx: Tx, caller: Caller, id: string): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(sql`
    SELECT ${columns} FROM users t WHERE t.id = ${id} AND ${visibleTo(caller)} FOR UPDATE OF t`);
  return row ?? null;
}

export type UserFilter = {
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  status: string | null;
  /** Null: users with a second factor and without. */
  mfaEnabled: boolean | null;
  /** Words, each of which begins a word of the name or the address. */
  query: string | null;
};

/** Milliseconds for which the list is walked before the holders of a word are looked up instead. */
const walkMs = 1_000;

/** A page of users, newest first (indexes users_…newest and users_…by_status). */
export async function listUsers(
  db: Database,
  who: CallContext,
  { partnerId, orgId, roleId, status, mfaEnabled, query }: UserFilter,
  page: Page,
): Promise<ListPage<UserRow>> {
  const { caller } = who;
  const tenant = {
    orgId: orgId ?? (caller.scope === "organization" ? caller.orgId : null),
    partnerId: partnerId ?? (caller.scope === "partner" ? caller.partnerId : null),
  };
  const found = query === null ? null : await findByWords(db, who, query, tenant);
  const filters = conditions((rows) =>
    rows
      .where(nonEmpty({ "t.partner_id": partnerId, "t.org_id": orgId, "t.role_id": roleId, "t.status": status }))
      .where(nonEmpty({ "t.mfa_enabled": mfaEnabled })),
  );
  const listOf = (search = sql`true`) => {
    return { table: sql`users`, columns, where: sql`${filters} AND ${search}`, visible: visibleTo(caller) };
  };
  if (found === null) return readNewestPage<UserRow>(db, who, listOf(), page);
  if (found.isFew) return readNewestPage<UserRow>(db, who, listOf(found.where), page);
  const uncounted = { ...page, skipCount: true };
  // With this many matches a page is found soon, unless all of them are at the far end of the list.
  const soon = { ...who, deadlineMs: Math.min(performance.now() + walkMs, who.deadlineMs ?? Number.POSITIVE_INFINITY) };
  const shown = await readNewestPage<UserRow>(db, soon, listOf(found.walk), uncounted).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "deadline_exceeded") throw error;
    return readNewestPage<UserRow>(db, who, listOf(found.lookUp), uncounted);
  });
  if (page.skipCount) return shown;
  const isLast = page.cursor === null && shown.info.nextCursor === "" && (shown.rows.length > 0 || page.page === 1);
  shown.info.total = BigInt(isLast ? (page.page - 1) * page.limit + shown.rows.length : mostFound);
  shown.info.totalIsEstimate = !isLast;
  return shown;
}

/** Writes name, role, organizations and sites of a locked user; returns their new version. */
export async function updateUser(
  tx: Tx,
  id: string,
  user: Standing,
  now: Date,
): Promise<{ row: UserRow; version: number }> {
  const [updated] = await tx.query<{ version: number }>(sql`
    UPDATE users SET name = ${user.name}, role_id = ${user.role.id}, org_access = ${user.orgAccess},
      site_restricted = ${user.siteIds !== null}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING version`);
  await tx.execute(sql`DELETE FROM user_organizations WHERE user_id = ${id}`);
  await tx.execute(sql`DELETE FROM user_sites WHERE user_id = ${id}`);
  await putGrants(tx, id, user);
  return { row: await readUser(tx, id), version: written(updated).version };
}

/** Disables a locked user and ends their sessions and invitations; returns their new version. */
export async function disableUser(tx: Tx, id: string, now: Date): Promise<{ row: UserRow; version: number }> {
  const [disabled] = await tx.query<{ version: number }>(sql`
    UPDATE users SET status = 'disabled', version = version + 1, updated_at = ${now} WHERE id = ${id} RETURNING version`);
  await tx.execute(sql`
    UPDATE sessions SET revoked_at = ${now}, revoke_reason = 'user disabled' WHERE user_id = ${id} AND revoked_at IS NULL`);
  await endApproved(tx, id, { except: null });
  await tx.execute(sql`DELETE FROM invites WHERE user_id = ${id} AND accepted_at IS NULL`);
  return { row: await readUser(tx, id), version: written(disabled).version };
}

/** Enables a locked, disabled user; one without a password who never signed in becomes invited again. */
export async function enableUser(tx: Tx, id: string, now: Date): Promise<{ row: UserRow; version: number }> {
  const [enabled] = await tx.query<{ version: number }>(sql`
    UPDATE users SET
      status = CASE WHEN password_hash IS NULL AND last_login_at IS NULL AND email_proof IS NULL THEN 'invited' ELSE 'active' END,
      version = version + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING version`);
  return { row: await readUser(tx, id), version: written(enabled).version };
}

/** Removes a locked user with everything that is theirs. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM users WHERE id = ${id}`);
}

async function readUser(tx: Tx, id: string): Promise<UserRow> {
  const [row] = await tx.query<UserRow>(sql`SELECT ${columns} FROM users t WHERE t.id = ${id}`);
  return written(row);
}

async function putGrants(
  tx: Tx,
  id: string,
  user: Pick<Standing, "partnerId" | "orgId" | "orgIds" | "siteIds">,
): Promise<void> {
  if (user.orgIds.length > 0) {
    await tx.execute(sql`
      INSERT INTO user_organizations (user_id, org_id, partner_id)
      SELECT ${id}, org_id, ${user.partnerId} FROM unnest(${[...user.orgIds]}::uuid[]) AS org_id`);
  }
  if (user.siteIds !== null && user.siteIds.length > 0) {
    await tx.execute(sql`
      INSERT INTO user_sites (user_id, site_id, partner_id, org_id)
      SELECT ${id}, site_id, ${user.partnerId}, ${user.orgId} FROM unnest(${[...user.siteIds]}::uuid[]) AS site_id`);
  }
}

function written<T>(row: T | undefined): T {
  if (row === undefined) throw new Error("a user that was locked has gone");
  return row;
}

/** Names of those of the users that the caller sees. */
export function findUserNames(db: Database, who: CallContext, ids: readonly string[]) {
  return db.read<Pick<UserRow, "id" | "name" | "partner_id" | "org_id">>(
    who,
    sql`SELECT t.id, t.name, t.partner_id, t.org_id FROM users t
        WHERE t.id = ANY (${[...ids]}::uuid[]) AND ${visibleTo(who.caller)}`,
  );
}

export const emailTaken = (cause?: unknown) =>
  new AppError("email_taken", "E-mail address is already in use", { cause });

/** The query's own wall beside row-level security. */
function visibleTo(caller: Caller): Query {
  if (caller.scope === "system") return sql`true`;
  if (caller.scope === "organization") return sql`t.org_id = ${caller.orgId}`;
  if (caller.orgAccess.mode === "all") return sql`t.partner_id = ${caller.partnerId}`;
  return sql`t.partner_id = ${caller.partnerId}
    AND (t.org_id IS NULL OR t.org_id = ANY (${[...caller.orgAccess.orgIds]}::uuid[]))`;
}
