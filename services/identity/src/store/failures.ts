import { type Database, type Statement, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { type AttemptLimit, limitedUntilMs, withFailures } from "../rules/attempt-limit.ts";

/** Something whose failures are counted together. */
export type Counted = {
  /** Name of the counter, e.g. `mfa/<user id>`; case-insensitive. */
  key: string;
  limit: AttemptLimit;
  /** Whose own count it is: theirs to see and to clear. */
  userId?: string;
};

/** Times of failures in milliseconds by key, as they stood under the lock. */
export type Failures = ReadonlyMap<string, readonly number[]>;

type Row = { key: string; failed_at: Date[] };

// lower() is PostgreSQL's, as in the index users_email: all spellings of an e-mail share a count.
const bucket = sql`sha256(convert_to(lower(k.key), 'UTF8'))`;

/** The failures as of now, without a lock. */
export async function readFailures(db: Database, counted: readonly Counted[]): Promise<Failures> {
  return byKey(
    await db.read<Row>(
      { caller: systemCaller("identity") },
      sql`SELECT k.key, f.failed_at FROM ${keysOf(counted)} JOIN failed_attempts f ON f.bucket = ${bucket}`,
    ),
  );
}

/** The failures, locked against concurrent counting; a counter without failures has no row to lock. */
export async function lockFailures(tx: Tx, counted: readonly Counted[]): Promise<Failures> {
  return byKey(
    await tx.query<Row>(sql`
      SELECT k.key, f.failed_at FROM ${keysOf(counted)} JOIN failed_attempts f ON f.bucket = ${bucket}
      ORDER BY f.bucket FOR UPDATE OF f`),
  );
}

/** The failures, locked for adding one: a counter without failures gets a row that others wait for, too. */
export async function lockToCount(tx: Tx, counted: readonly Counted[], now: Date): Promise<Failures> {
  // A fixed lock order: two transactions that lock the same rows never deadlock.
  return byKey(
    await tx.query<Row>(sql`
      WITH locked AS (
        INSERT INTO failed_attempts AS f (bucket, user_id, failed_at, expires_at)
        SELECT ${bucket}, k.user_id, '{}', ${now} FROM ${keysOf(counted)} ORDER BY 1
        ON CONFLICT (bucket) DO UPDATE SET expires_at = f.expires_at
        RETURNING bucket, failed_at)
      SELECT k.key, locked.failed_at FROM ${keysOf(counted)} JOIN locked ON locked.bucket = ${bucket}`),
  );
}

/** Until when one of these may not be tried again; null when all may. */
export function limitedUntil(failures: Failures, counted: readonly Counted[], now: Date): Date | null {
  const ends = counted.map(({ key, limit }) => limitedUntilMs(failures.get(key) ?? [], limit, now.getTime()) ?? 0);
  const latest = Math.max(0, ...ends);
  return latest > 0 ? new Date(latest) : null;
}

/** Adds failures, under lockToCount; one of each, or as many as `times` gives. */
export async function addFailures(
  tx: Tx,
  failures: Failures,
  counted: readonly Counted[],
  now: Date,
  times: (key: string) => number = () => 1,
): Promise<void> {
  const rows = counted.map(({ key, limit }) => ({
    key,
    failedAt: withFailures(failures.get(key) ?? [], limit, now.getTime(), times(key)),
    expiresAt: new Date(now.getTime() + limit.windowMs),
  }));
  const texts = rows.map(({ failedAt }) => `{${failedAt.map((atMs) => new Date(atMs).toISOString()).join(",")}}`);
  await tx.execute(sql`
    UPDATE failed_attempts f SET failed_at = k.failed_at::timestamptz[], expires_at = k.expires_at
    FROM unnest(${rows.map(({ key }) => key)}::text[], ${texts}::text[], ${rows.map((row) => row.expiresAt)}::timestamptz[])
         AS k (key, failed_at, expires_at)
    WHERE f.bucket = ${bucket}`);
}

export async function clearFailures(tx: Tx, counted: readonly Counted[]): Promise<void> {
  if (counted.length === 0) return;
  await tx.execute(sql`DELETE FROM failed_attempts f USING ${keysOf(counted)} WHERE f.bucket = ${bucket}`);
}

/**
 * Removes up to `limit` counts in which nothing counts any more; returns their number. Index failed_attempts_expiry.
 */
export async function removeOldFailures(db: Database, limit: number, now: Date): Promise<number> {
  return db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      DELETE FROM failed_attempts f USING (
        SELECT bucket FROM failed_attempts WHERE expires_at < ${now}
        ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) old
      WHERE f.bucket = old.bucket`),
  );
}

/** Counts a failed sign-in; true for the first one of this user in this minute. */
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

function keysOf(counted: readonly Counted[]): Statement {
  return sql`unnest(${counted.map(({ key }) => key)}::text[], ${counted.map(({ userId }) => userId ?? null)}::uuid[])
             AS k (key, user_id)`;
}

function byKey(rows: readonly Row[]): Failures {
  return new Map(rows.map(({ key, failed_at }) => [key, failed_at.map((at) => at.getTime())]));
}
