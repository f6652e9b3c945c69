import { type Database, sql, type Tx } from "@muster/db";
import type { TokenHolder } from "./invites.ts";

/** Stores a link's token; those of the user that have expired go. */
export async function insertPasswordReset(
  tx: Tx,
  reset: { id: string; userId: string; hash: Buffer; now: Date; expiresAt: Date },
): Promise<void> {
  await tx.execute(sql`DELETE FROM password_resets WHERE user_id = ${reset.userId} AND expires_at < ${reset.now}`);
  await tx.execute(sql`
    INSERT INTO password_resets (id, user_id, token_hash, created_at, expires_at)
    VALUES (${reset.id}, ${reset.userId}, ${reset.hash}, ${reset.now}, ${reset.expiresAt})`);
}

/** The link behind a token, used or not; called before authentication. */
export async function findPasswordReset(db: Database, hash: Buffer): Promise<TokenHolder | null> {
  const [row] = await db.read<TokenHolder>(
    { caller: null },
    sql`SELECT id, user_id, expires_at, used_at FROM find_password_reset(${hash})`,
  );
  return row ?? null;
}

/** Consumes the link; false when it was already used, or has expired. */
export async function usePasswordReset(tx: Tx, id: string, now: Date): Promise<boolean> {
  const used = await tx.execute(sql`
    UPDATE password_resets SET used_at = ${now} WHERE id = ${id} AND used_at IS NULL AND expires_at > ${now}`);
  return used === 1;
}

/**
 * Sets the password of an active user; no other link of theirs opens any more, and no sign-in that waits for its
 * second factor. False when they are not active.
 */
export async function setPassword(tx: Tx, userId: string, passwordHash: string, now: Date): Promise<boolean> {
  const set = await tx.execute(sql`
    UPDATE users SET password_hash = ${passwordHash}, updated_at = ${now} WHERE id = ${userId} AND status = 'active'`);
  await tx.execute(sql`UPDATE password_resets SET used_at = ${now} WHERE user_id = ${userId} AND used_at IS NULL`);
  await tx.execute(sql`
    UPDATE mfa_challenges SET completed_at = ${now} WHERE user_id = ${userId} AND completed_at IS NULL`);
  return set === 1;
}
