import { type Database, isUniqueViolation, type Query, sql, type Tx } from "@muster/db";
import {
  AppError,
  type CallContext,
  type Caller,
  decodeCursor,
  encodeCursor,
  isUuid,
  type Page,
  type Scope,
  validationError,
} from "@muster/kit";
import type { NewUser } from "../rules/new-user.ts";

export type UserRow = {
  id: string;
  email: string;
  name: string;
  department: string | null;
  scope: Scope;
  partner_id: string | null;
  org_id: string | null;
  role_id: string;
  role: string | null;
  org_access: string;
  org_ids: string[];
  site_restricted: boolean;
  site_ids: string[];
  status: string;
  mfa_enabled: boolean;
  last_login_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`
  u.id, u.email, u.name, u.department, u.scope, u.partner_id, u.org_id, u.role_id, coalesce(r.key, r.name) AS role,
  u.org_access, u.site_restricted, u.status, u.mfa_enabled, u.last_login_at, u.created_at, u.updated_at,
  (SELECT coalesce(array_agg(g.org_id ORDER BY g.org_id), '{}') FROM user_organizations g WHERE g.user_id = u.id) AS org_ids,
  (SELECT coalesce(array_agg(s.site_id ORDER BY s.site_id), '{}') FROM user_sites s WHERE s.user_id = u.id) AS site_ids`;

/** Inserts an invited person with their grants. Throws `email_taken`. */
export async function insertUser(tx: Tx, id: string, user: NewUser, now: Date): Promise<UserRow> {
  const restricted = user.siteIds.length > 0;
  try {
    await tx.execute(sql`
      INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, org_access, site_restricted, status,
                         created_at, updated_at)
      VALUES (${id}, ${user.email}, ${user.name}, ${user.scope}, ${user.partnerId}, ${user.orgId}, ${user.roleId},
              ${user.orgAccess}, ${restricted}, 'invited', ${now}, ${now})`);
  } catch (error) {
    if (isUniqueViolation(error, "users_email")) {
      throw new AppError("email_taken", "E-mail address is already in use", { cause: error });
    }
    throw error;
  }
  if (user.orgIds.length > 0) {
    await tx.execute(sql`
      INSERT INTO user_organizations (user_id, org_id, partner_id)
      SELECT ${id}, org_id, ${user.partnerId} FROM unnest(${[...user.orgIds]}::uuid[]) AS org_id`);
  }
  if (restricted) {
    await tx.execute(sql`
      INSERT INTO user_sites (user_id, site_id, partner_id, org_id)
      SELECT ${id}, site_id, ${user.partnerId}, ${user.orgId} FROM unnest(${[...user.siteIds]}::uuid[]) AS site_id`);
  }
  const [row] = await tx.query<UserRow>(sql`
    SELECT ${columns} FROM users u LEFT JOIN roles r ON r.id = u.role_id WHERE u.id = ${id}`);
  return row as UserRow;
}

/** One person, or null when missing or out of the caller's sight. */
export async function findUser(db: Database, who: CallContext, id: string): Promise<UserRow | null> {
  const [row] = await db.read<UserRow>(
    who,
    sql`SELECT ${columns} FROM users u LEFT JOIN roles r ON r.id = u.role_id
        WHERE u.id = ${id} AND ${inSight(who.caller)}`,
  );
  return row ?? null;
}

/** A page of people, newest first (indexes users_…newest), and their number unless the count is skipped. */
export async function listUsers(
  db: Database,
  who: CallContext,
  filter: { partnerId: string | null; orgId: string | null },
  page: Page,
): Promise<{ rows: UserRow[]; total: number | null; nextCursor: string }> {
  const [afterTime, afterId] = page.cursor ? readCursor(page.cursor) : [null, null];
  const offset = page.cursor ? 0 : (page.page - 1) * page.limit;
  const wanted = sql`${inSight(who.caller)}
    AND (${filter.partnerId}::uuid IS NULL OR u.partner_id = ${filter.partnerId}::uuid)
    AND (${filter.orgId}::uuid IS NULL OR u.org_id = ${filter.orgId}::uuid)`;
  const rows = await db.read<UserRow>(
    who,
    sql`
      SELECT ${columns} FROM users u LEFT JOIN roles r ON r.id = u.role_id
      WHERE ${wanted}
        AND (${afterTime}::timestamptz IS NULL OR (u.created_at, u.id) < (${afterTime}::timestamptz, ${afterId}::uuid))
      ORDER BY u.created_at DESC, u.id DESC LIMIT ${page.limit + 1} OFFSET ${offset}`,
  );
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const total = page.skipCount
    ? null
    : (await db.read<{ total: number }>(who, sql`SELECT count(*) AS total FROM users u WHERE ${wanted}`))[0]?.total;
  return {
    rows: shown,
    total: total ?? null,
    nextCursor: rows.length > page.limit && last ? encodeCursor([last.created_at.toISOString(), last.id]) : "",
  };
}

function readCursor(cursor: string): [string, string] {
  const [time = "", id = ""] = decodeCursor(cursor, 2);
  if (!isUuid(id) || Number.isNaN(Date.parse(time))) throw validationError({ cursor: ["Not a cursor of this list"] });
  return [time, id];
}

/** The query's own wall beside row-level security. */
function inSight(caller: Caller): Query {
  if (caller.scope === "system") return sql`true`;
  if (caller.scope === "organization") return sql`u.org_id = ${caller.orgId}`;
  if (caller.orgAccess.mode === "all") return sql`u.partner_id = ${caller.partnerId}`;
  return sql`u.partner_id = ${caller.partnerId}
    AND (u.org_id IS NULL OR u.org_id = ANY (${[...caller.orgAccess.orgIds]}::uuid[]))`;
}
