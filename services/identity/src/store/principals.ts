import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { PrincipalRow } from "../rules/principal.ts";

export type LoginCandidate = { user_id: string; password_hash: string; status: string };

/** Called before authentication: only the lookup functions return rows. */
const anonymous = { caller: null };

/** Accounts of one address whose passwords a sign-in tries. */
const maxLogins = 5;

/**
 * The accounts with a password behind an e-mail, matched without case; index users_by_email. More than one only where
 * nobody has proven the address (docs/decisions/0106-addresses-have-owners.md): active ones first, of each partner one
 * before any second of another.
 */
export function findLogins(db: Database, email: string): Promise<LoginCandidate[]> {
  return db.read<LoginCandidate>(
    anonymous,
    sql`SELECT user_id, password_hash, status FROM find_login(${email}) WHERE password_hash IS NOT NULL
        ORDER BY status = 'active' DESC, is_proven DESC, of_partner, user_id LIMIT ${maxLogins}`,
  );
}

const principalOf = (userId: string) => sql`
  SELECT user_id, email, name, department, role, permissions, scope, partner_id, org_id, org_access, org_ids,
         status, version, mfa_enabled, site_restricted, site_ids, partner_status, org_status, sso_enforced,
         second_factor_required
  FROM find_principal(${userId})`;

/** The user with role, permissions and grants as of now, or null. */
export async function findPrincipal(db: Database, userId: string): Promise<PrincipalRow | null> {
  const [row] = await db.read<PrincipalRow>(anonymous, principalOf(userId));
  return row ?? null;
}

/** Reads the account within a transaction, whose locks keep it unchanged until the transaction's end. */
export async function readPrincipal(tx: Tx, userId: string): Promise<PrincipalRow | null> {
  const [row] = await tx.query<PrincipalRow>(principalOf(userId));
  return row ?? null;
}

/**
 * Locks a user until the transaction ends, against changes of standing, factors and password; false unless active.
 * Always before sessions and authorizations.
 */
export async function holdUser(tx: Tx, userId: string): Promise<boolean> {
  const [user] = await tx.query<{ status: string }>(sql`
    SELECT status FROM users WHERE id = ${userId} FOR NO KEY UPDATE`);
  return user?.status === "active";
}

/** Records a sign-in, and a stronger hash of the same password when there is one. */
export async function recordLogin(tx: Tx, userId: string, newHash: string | null, now: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE users SET last_login_at = ${now}, password_hash = coalesce(${newHash}, password_hash)
    WHERE id = ${userId}`);
}

/**
 * Whether the hash that a password was checked against is still this active user's, locked until the transaction ends:
 * a sign-in concurrent with a password change leaves no session by the old password.
 */
export async function passwordStands(tx: Tx, userId: string, hash: string): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT 1 FROM users WHERE id = ${userId} AND password_hash = ${hash} AND status = 'active' FOR NO KEY UPDATE`);
  return rows.length === 1;
}

/** Renames an active user; returns the previous name, and the user's new version. Null when the user does not exist. */
export async function renameUser(
  tx: Tx,
  userId: string,
  name: string,
  now: Date,
): Promise<{ before: string; version: number } | null> {
  const [row] = await tx.query<{ before: string; version: number }>(sql`
    WITH old AS (SELECT id, name FROM users WHERE id = ${userId} AND status = 'active' FOR NO KEY UPDATE)
    UPDATE users SET name = ${name}, version = version + 1, updated_at = ${now} FROM old
    WHERE users.id = old.id RETURNING old.name AS before, version`);
  return row ?? null;
}

/** Stores a stronger hash of the same password. */
export async function recordRehash(tx: Tx, userId: string, newHash: string): Promise<void> {
  await tx.execute(sql`UPDATE users SET password_hash = ${newHash} WHERE id = ${userId}`);
}

/** The hash of the caller's own password; null when they have none. */
export async function findOwnPassword(db: Database, who: CallContext): Promise<string | null> {
  const [row] = await db.read<{ password_hash: string | null }>(
    who,
    sql`SELECT password_hash FROM users WHERE id = ${who.caller.actor.id} AND status = 'active'`,
  );
  return row?.password_hash ?? null;
}
