import { type Database, sql, type Tx } from "@muster/db";
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
};

export type NewSession = {
  id: string;
  userId: string;
  partnerId: string | null;
  orgId: string | null;
  familySecret: Buffer;
  mfaAt: Date | null;
  ipAddress: string | null;
  userAgent: string | null;
  now: Date;
  idleExpiresAt: Date;
  expiresAt: Date;
};

/** A session family by its id, whoever asks: the proof in the token decides. */
export async function findSession(db: Database, id: string): Promise<SessionRow | null> {
  const [row] = await db.read<SessionRow>(
    { caller: null },
    sql`SELECT session_id, user_id, generation, family_secret, mfa_at, rotated_at, idle_expires_at, expires_at,
               revoked_at
        FROM find_session(${id})`,
  );
  return row ?? null;
}

export async function insertSession(tx: Tx, s: NewSession): Promise<void> {
  await tx.execute(sql`
    INSERT INTO sessions (id, user_id, partner_id, org_id, family_secret, mfa_at, ip_address, user_agent,
                          created_at, rotated_at, idle_expires_at, expires_at)
    VALUES (${s.id}, ${s.userId}, ${s.partnerId}, ${s.orgId}, ${s.familySecret}, ${s.mfaAt}, ${s.ipAddress},
            ${s.userAgent}, ${s.now}, ${s.now}, ${s.idleExpiresAt}, ${s.expiresAt})`);
}

/** Moves the family from generation n to n + 1; false when somebody else already did, or the family has ended. */
export async function rotateSession(
  tx: Tx,
  id: string,
  generation: number,
  now: Date,
  idleExpiresAt: Date,
): Promise<boolean> {
  const moved = await tx.execute(sql`
    UPDATE sessions
    SET generation = generation + 1, rotated_at = ${now}, idle_expires_at = least(${idleExpiresAt}, expires_at)
    WHERE id = ${id} AND generation = ${generation} AND revoked_at IS NULL AND idle_expires_at > ${now}`);
  return moved === 1;
}

/** Ends a family; false when it had ended before. */
export async function revokeSession(tx: Tx, id: string, reason: string, now: Date): Promise<boolean> {
  const ended = await tx.execute(sql`
    UPDATE sessions SET revoked_at = ${now}, revoke_reason = ${reason} WHERE id = ${id} AND revoked_at IS NULL`);
  return ended === 1;
}

/** Ends every living family of a partner's or an organization's people (index `sessions_tenant`); how many there were. */
export function revokeTenantSessions(tx: Tx, tenant: Tenant, reason: string, now: Date): Promise<number> {
  return tx.execute(sql`
    UPDATE sessions SET revoked_at = ${now}, revoke_reason = ${reason}
    WHERE ${ofTenant(tenant)} AND revoked_at IS NULL`);
}

/** Notes a completed second factor in a living session of this person; null when it has ended. */
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
