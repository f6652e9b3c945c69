import { type Database, type Query, sql, type Tx } from "@muster/db";
import { type CallContext, decodeCursor, encodeCursor, type Page, systemCaller } from "@muster/kit";
import { ofTenant, type Tenant } from "./api-keys.ts";

export type SessionRow = {
  session_id: string;
  user_id: string;
  generation: number;
  family_secret: Buffer;
  mfa_at: Date | null;
  rotated_at: Date;
  idle_expires_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  began_by: "password" | "sso";
};

export type LockedSession = SessionRow & { sso_provider_id: string | null };

export type NewSession = {
  id: string;
  userId: string;
  partnerId: string | null;
  orgId: string | null;
  familySecret: Buffer;
  mfaAt: Date | null;
  /** The identity provider that vouched for the user; null for a password. */
  ssoProviderId: string | null;
  /** What a client calls itself that a user approved in a browser; null for all others. */
  clientName: string | null;
  ipAddress: string | null;
  userAgent: string | null;
  now: Date;
  idleExpiresAt: Date;
  expiresAt: Date;
};

/** A session family by its id, for any caller: the proof in the token authenticates. */
export async function findSession(db: Database, id: string): Promise<SessionRow | null> {
  const [row] = await db.read<SessionRow>(
    { caller: null },
    sql`SELECT session_id, user_id, generation, family_secret, mfa_at, rotated_at, idle_expires_at, expires_at,
               revoked_at, began_by
        FROM find_session(${id})`,
  );
  return row ?? null;
}

export async function insertSession(tx: Tx, s: NewSession): Promise<void> {
  await tx.execute(sql`
    INSERT INTO sessions (id, user_id, partner_id, org_id, family_secret, mfa_at, began_by, sso_provider_id, client_name,
                          ip_address, user_agent, created_at, rotated_at, idle_expires_at, expires_at)
    VALUES (${s.id}, ${s.userId}, ${s.partnerId}, ${s.orgId}, ${s.familySecret}, ${s.mfaAt},
            ${s.ssoProviderId === null ? "password" : "sso"}, ${s.ssoProviderId}, ${s.clientName}, ${s.ipAddress}, ${s.userAgent},
            ${s.now}, ${s.now}, ${s.idleExpiresAt}, ${s.expiresAt})`);
}

/** Moves the family from generation n to n + 1; false after a concurrent rotation, or when the family has ended. */
export async function rotateSession(
  tx: Tx,
  id: string,
  generation: number,
  now: Date,
  idleExpiresAt: Date,
  ipAddress: string | null,
): Promise<boolean> {
  const moved = await tx.execute(sql`
    UPDATE sessions
    SET generation = generation + 1, rotated_at = ${now}, idle_expires_at = least(${idleExpiresAt}, expires_at),
        ip_address = coalesce(${ipAddress}, ip_address)
    WHERE id = ${id} AND generation = ${generation} AND revoked_at IS NULL AND idle_expires_at > ${now}`);
  return moved === 1;
}

/** Why a family ended before its time. */
export type EndReason =
  | "logout"
  | "revoked"
  | "password_change"
  | "password_reset"
  | "refresh_token_reuse"
  | "user_disabled"
  | "sso_required";

/** The fields of a family that has just ended, as they are announced. */
export type EndedSession = { id: string; user_agent: string | null; client_name: string | null };

/** Which families of a user: one, all, or all but one. */
export type Which = { only: string } | { except: string | null };

/** Ends active families of a user; those that ended now. Index sessions_user. */
export async function revokeSessions(
  tx: Tx,
  userId: string,
  which: Which,
  reason: EndReason,
  now: Date,
): Promise<EndedSession[]> {
  const wanted = "only" in which ? sql`id = ${which.only}` : sql`id IS DISTINCT FROM ${which.except}::uuid`;
  return tx.query<EndedSession>(sql`
    UPDATE sessions SET revoked_at = ${now}, revoke_reason = ${reason}
    WHERE user_id = ${userId} AND ${wanted} AND revoked_at IS NULL AND idle_expires_at > ${now} AND expires_at > ${now}
    RETURNING id, user_agent, client_name`);
}

/** The family, locked against other refreshes until the transaction ends; null when it does not exist. */
export async function lockSession(tx: Tx, id: string): Promise<LockedSession | null> {
  const [row] = await tx.query<LockedSession>(sql`
    SELECT id AS session_id, user_id, generation, family_secret, mfa_at, rotated_at, idle_expires_at, expires_at, revoked_at, began_by,
           sso_provider_id
    FROM sessions WHERE id = ${id} FOR UPDATE`);
  return row ?? null;
}

export type OwnSession = {
  id: string;
  ip_address: string | null;
  user_agent: string | null;
  client_name: string | null;
  mfa_at: Date | null;
  created_at: Date;
  rotated_at: Date;
  ends_at: Date;
};

/**
 * A page of the caller's own active families, newest first, and their number unless it is skipped. Index sessions_user.
 */
export async function listOwnSessions(
  db: Database,
  who: CallContext,
  page: Page,
  now: Date,
): Promise<{ rows: OwnSession[]; total: number | null; nextCursor: string }> {
  const active = sql`user_id = ${who.caller.actor.id} AND revoked_at IS NULL AND idle_expires_at > ${now}
                     AND expires_at > ${now}`;
  const [time, id] = page.cursor === null ? [null, null] : decodeCursor(page.cursor, ["time", "uuid"]);
  const offset = page.cursor === null ? (page.page - 1) * page.limit : 0;
  const rows = await db.read<OwnSession>(
    who,
    sql`SELECT id, ip_address, user_agent, client_name, mfa_at, created_at, rotated_at, least(idle_expires_at, expires_at) AS ends_at
        FROM sessions WHERE ${active}
          AND (${time}::timestamptz IS NULL OR (created_at, id) < (${time}::timestamptz, ${id}::uuid))
        ORDER BY created_at DESC, id DESC LIMIT ${page.limit + 1} OFFSET ${offset}`,
  );
  const counted = page.skipCount
    ? null
    : await db.read<{ n: number }>(who, sql`SELECT count(*)::int AS n FROM sessions WHERE ${active}`);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > page.limit && last ? encodeCursor([last.created_at, last.id]) : "";
  return { rows: shown, total: counted?.[0]?.n ?? null, nextCursor };
}

/** When one of the caller's own families was revoked: null when it was not, undefined when there is none of that id. */
export async function findOwnSession(db: Database, who: CallContext, id: string): Promise<Date | null | undefined> {
  const [row] = await db.read<{ revoked_at: Date | null }>(
    who,
    sql`SELECT revoked_at FROM sessions WHERE id = ${id} AND user_id = ${who.caller.actor.id}`,
  );
  return row?.revoked_at;
}

/** Removes up to `limit` families that were revoked before then; returns their number. Index sessions_revoked. */
export const removeRevokedSessions = (db: Database, limit: number, before: Date): Promise<number> =>
  removeSessions(db, sql`revoked_at < ${before}`, limit);

/** Removes up to `limit` families that expired before then; returns their number. Index sessions_expiry. */
export const removeExpiredSessions = (db: Database, limit: number, before: Date): Promise<number> =>
  removeSessions(db, sql`expires_at < ${before}`, limit);

function removeSessions(db: Database, which: Query, limit: number): Promise<number> {
  return db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      DELETE FROM sessions s USING (
        SELECT id FROM sessions WHERE ${which} LIMIT ${limit} FOR UPDATE SKIP LOCKED) ended
      WHERE s.id = ended.id`),
  );
}

/**
 * Ends every active family of a partner's or an organization's users (index `sessions_tenant`); returns their number.
 */
export function revokeTenantSessions(tx: Tx, tenant: Tenant, reason: string, now: Date): Promise<number> {
  return tx.execute(sql`
    UPDATE sessions SET revoked_at = ${now}, revoke_reason = ${reason}
    WHERE ${ofTenant(tenant)} AND revoked_at IS NULL`);
}

/** Notes a completed second factor in an active session of this user; null when it has ended. */
export async function stepUpSession(
  tx: Tx,
  id: string,
  userId: string,
  now: Date,
): Promise<Pick<SessionRow, "generation" | "family_secret" | "expires_at"> | null> {
  const [row] = await tx.query<Pick<SessionRow, "generation" | "family_secret" | "expires_at">>(sql`
    UPDATE sessions SET mfa_at = ${now}
    WHERE id = ${id} AND user_id = ${userId} AND revoked_at IS NULL AND idle_expires_at > ${now}
    RETURNING generation, family_secret, expires_at`);
  return row ?? null;
}

/** Whether an identity provider began this session of the caller's since then. */
export async function beganLatelyBySso(db: Database, who: CallContext, id: string, since: Date): Promise<boolean> {
  const rows = await db.read(
    who,
    sql`SELECT FROM sessions WHERE id = ${id} AND user_id = ${who.caller.actor.id} AND began_by = 'sso'
          AND created_at >= ${since} AND revoked_at IS NULL`,
  );
  return rows.length > 0;
}
