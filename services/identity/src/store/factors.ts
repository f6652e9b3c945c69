import { type Database, sql, type Tx } from "@muster/db";
import { type Factors, hasFactor } from "../rules/factors.ts";
import type { TokenHolder } from "./invites.ts";

export type TotpRow = { secret: Buffer; confirmed_at: Date | null };

/** Serialises attempts on this user's factors until the transaction ends; sign-ins are not blocked. */
export async function lockUserFactors(tx: Tx, userId: string): Promise<void> {
  await tx.query(sql`SELECT 1 FROM users WHERE id = ${userId} FOR NO KEY UPDATE`);
}

export async function findTotp(tx: Tx, userId: string): Promise<TotpRow | null> {
  const [row] = await tx.query<TotpRow>(sql`SELECT secret, confirmed_at FROM user_totp WHERE user_id = ${userId}`);
  return row ?? null;
}

/** Stores a secret that waits for its first code; false when there is a confirmed one. */
export async function putPendingTotp(tx: Tx, userId: string, secret: Buffer, now: Date): Promise<boolean> {
  const stored = await tx.execute(sql`
    INSERT INTO user_totp AS t (user_id, secret, created_at) VALUES (${userId}, ${secret}, ${now})
    ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at, last_step = 0
    WHERE t.confirmed_at IS NULL`);
  return stored === 1;
}

/** Marks a step as used; false when it, or a later one, was used before. */
export async function useStep(tx: Tx, userId: string, step: number): Promise<boolean> {
  const used = await tx.execute(sql`
    UPDATE user_totp SET last_step = ${step} WHERE user_id = ${userId} AND last_step < ${step}`);
  return used === 1;
}

/** Uses a recovery code up; false when there is no such unused one. */
export async function useRecoveryCode(tx: Tx, userId: string, hash: Buffer, now: Date): Promise<boolean> {
  const used = await tx.execute(sql`
    UPDATE recovery_codes SET used_at = ${now} WHERE user_id = ${userId} AND code_hash = ${hash} AND used_at IS NULL`);
  return used === 1;
}

/** A user's enrolled factors; call under lockUserFactors where a decision depends on it. */
export async function findFactors(tx: Tx, userId: string): Promise<Factors> {
  const [row] = await tx.query<Factors>(sql`
    SELECT EXISTS (SELECT 1 FROM user_totp WHERE user_id = ${userId} AND confirmed_at IS NOT NULL) AS totp,
           (SELECT count(*)::int FROM passkeys WHERE user_id = ${userId}) AS passkeys,
           (SELECT count(*)::int FROM recovery_codes WHERE user_id = ${userId} AND used_at IS NULL) AS "recoveryCodes"`);
  return row as Factors;
}

/** Confirms the waiting secret. */
export async function confirmTotp(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE user_totp SET confirmed_at = ${now} WHERE user_id = ${userId}`);
}

/** Records that a factor was added; `codeHashes` when it is the first one. Returns the user's new version. */
export async function factorAdded(
  tx: Tx,
  userId: string,
  codeHashes: readonly Buffer[] | null,
  now: Date,
): Promise<number> {
  if (codeHashes !== null) await replaceRecoveryCodes(tx, userId, codeHashes);
  return setMfaEnabled(tx, userId, true, now);
}

export async function removeTotp(tx: Tx, userId: string): Promise<void> {
  await tx.execute(sql`DELETE FROM user_totp WHERE user_id = ${userId}`);
}

/**
 * Records that a factor was removed. With the last one the recovery codes are deleted, and no session of the user
 * counts as stepped up any more. Returns the user's new version, and whether it was the last factor.
 */
export async function factorRemoved(tx: Tx, userId: string, now: Date): Promise<{ version: number; wasLast: boolean }> {
  if (hasFactor(await findFactors(tx, userId))) {
    return { version: await setMfaEnabled(tx, userId, true, now), wasLast: false };
  }
  await tx.execute(sql`DELETE FROM recovery_codes WHERE user_id = ${userId}`);
  await tx.execute(sql`UPDATE sessions SET mfa_at = NULL WHERE user_id = ${userId} AND mfa_at IS NOT NULL`);
  return { version: await setMfaEnabled(tx, userId, false, now), wasLast: true };
}

async function setMfaEnabled(tx: Tx, userId: string, enabled: boolean, now: Date): Promise<number> {
  const [row] = await tx.query<{ version: number }>(sql`
    UPDATE users SET mfa_enabled = ${enabled}, version = version + 1, updated_at = ${now}
    WHERE id = ${userId} RETURNING version`);
  if (!row) throw new Error("a user with a session is not there");
  return row.version;
}

/**
 * Removes every factor of a locked user whom the caller can see, with recovery codes and pending sign-ins. Returns the
 * removed factors, and the user's new version.
 */
export async function resetFactors(
  tx: Tx,
  userId: string,
  now: Date,
): Promise<{ totp: boolean; passkeys: number; version: number }> {
  const [removed] = await tx.query<{ totp: boolean; passkeys: number }>(
    sql`SELECT totp, passkeys FROM reset_factors(${userId})`,
  );
  if (!removed) throw new Error("a user that was locked is not visible");
  return { ...removed, version: await setMfaEnabled(tx, userId, false, now) };
}

/** Puts these in the place of all recovery codes of the user. */
export async function replaceRecoveryCodes(tx: Tx, userId: string, codeHashes: readonly Buffer[]): Promise<void> {
  await tx.execute(sql`DELETE FROM recovery_codes WHERE user_id = ${userId}`);
  await tx.execute(sql`
    INSERT INTO recovery_codes (user_id, code_hash)
    SELECT ${userId}, code_hash FROM unnest(${[...codeHashes]}::bytea[]) AS code_hash`);
}

export async function insertChallenge(
  tx: Tx,
  challenge: { id: string; userId: string; hash: Buffer; now: Date; expiresAt: Date },
): Promise<void> {
  await tx.execute(
    sql`DELETE FROM mfa_challenges WHERE user_id = ${challenge.userId} AND expires_at < ${challenge.now}`,
  );
  await tx.execute(sql`
    INSERT INTO mfa_challenges (id, user_id, token_hash, created_at, expires_at)
    VALUES (${challenge.id}, ${challenge.userId}, ${challenge.hash}, ${challenge.now}, ${challenge.expiresAt})`);
}

/** The challenge behind a token, completed or not; called before authentication. */
export async function findChallenge(db: Database, hash: Buffer): Promise<TokenHolder | null> {
  const [row] = await db.read<TokenHolder>(
    { caller: null },
    sql`SELECT id, user_id, expires_at, used_at FROM find_mfa_challenge(${hash})`,
  );
  return row ?? null;
}

/** Completes the challenge; false when it was completed before, or has expired. */
export async function completeChallenge(tx: Tx, id: string, now: Date): Promise<boolean> {
  const completed = await tx.execute(sql`
    UPDATE mfa_challenges SET completed_at = ${now} WHERE id = ${id} AND completed_at IS NULL AND expires_at > ${now}`);
  return completed === 1;
}

/** Until when this challenge refuses further codes; null while it accepts them. Call under lockUserFactors. */
export async function challengeLimitedUntil(tx: Tx, challengeId: string, max: number): Promise<Date | null> {
  const [challenge] = await tx.query<{ failures: number; expires_at: Date }>(sql`
    SELECT failures, expires_at FROM mfa_challenges WHERE id = ${challengeId}`);
  return challenge && challenge.failures >= max ? challenge.expires_at : null;
}

export async function addChallengeFailure(tx: Tx, challengeId: string): Promise<void> {
  await tx.execute(sql`UPDATE mfa_challenges SET failures = failures + 1 WHERE id = ${challengeId}`);
}
