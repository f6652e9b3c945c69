import { sql, type Tx } from "@muster/db";
import { uuidv7 } from "@muster/kit";

/** Failures of a second factor allowed in the window, per person and per challenge (01-conventions, "Limits of other routes"). */
export const maxFailures = 5;
const windowMs = 5 * 60_000;

/** Until when this person, or this challenge, may not try again; null when they may. Ask under lockPerson. */
export async function limitedUntil(
  tx: Tx,
  userId: string,
  challengeId: string | null,
  now: Date,
): Promise<Date | null> {
  const since = new Date(now.getTime() - windowMs);
  const recent = await tx.query<{ failed_at: Date }>(sql`
    SELECT failed_at FROM mfa_failures WHERE user_id = ${userId} AND failed_at > ${since}
    ORDER BY failed_at DESC LIMIT ${maxFailures}`);
  const oldest = recent[maxFailures - 1];
  if (oldest) return new Date(oldest.failed_at.getTime() + windowMs);
  const [challenge] = await tx.query<{ failures: number; expires_at: Date }>(sql`
    SELECT failures, expires_at FROM mfa_challenges WHERE id = ${challengeId}::uuid`);
  return challenge && challenge.failures >= maxFailures ? challenge.expires_at : null;
}

export async function addFailure(tx: Tx, userId: string, challengeId: string | null, now: Date): Promise<void> {
  await tx.execute(sql`
    DELETE FROM mfa_failures WHERE user_id = ${userId} AND failed_at < ${new Date(now.getTime() - windowMs)}`);
  await tx.execute(sql`
    INSERT INTO mfa_failures (id, user_id, failed_at) VALUES (${uuidv7(now.getTime())}, ${userId}, ${now})`);
  await tx.execute(sql`UPDATE mfa_challenges SET failures = failures + 1 WHERE id = ${challengeId}::uuid`);
}

export async function clearFailures(tx: Tx, userId: string): Promise<void> {
  await tx.execute(sql`DELETE FROM mfa_failures WHERE user_id = ${userId}`);
}

/** Counts a failed sign-in; true for the first one of this person in this minute. */
export async function countFailedLogin(tx: Tx, userId: string, now: Date): Promise<boolean> {
  const minute = new Date(Math.floor(now.getTime() / 60_000) * 60_000);
  const [row] = await tx.query<{ failures: number }>(sql`
    INSERT INTO failed_logins AS f (user_id, minute, failures) VALUES (${userId}, ${minute}, 1)
    ON CONFLICT (user_id, minute) DO UPDATE SET failures = f.failures + 1 RETURNING failures`);
  const first = row?.failures === 1;
  const old = new Date(now.getTime() - 86_400_000);
  if (first) await tx.execute(sql`DELETE FROM failed_logins WHERE user_id = ${userId} AND minute < ${old}`);
  return first;
}
