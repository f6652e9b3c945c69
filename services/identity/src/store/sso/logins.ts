import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";

export type LoginRow = {
  provider_id: string;
  generation: number;
  kind: "login" | "link";
  user_id: string | null;
  session_id: string | null;
  redirect_url: string;
  request_id: string | null;
  secrets_sealed: Buffer | null;
  handle_hash: Buffer | null;
  expires_at: Date;
  consumed_at: Date | null;
};

export type NewLogin = Omit<LoginRow, "handle_hash" | "expires_at" | "consumed_at"> & { state_hash: Buffer };

const system = { caller: systemCaller("identity") };
const columns = sql`provider_id, generation, kind, user_id, session_id, redirect_url, request_id, secrets_sealed,
  handle_hash, expires_at, consumed_at`;

/** Login flows in flight at a provider, at most. */
export const maxPendingLogins = 1_000;

/** Stores a new login flow; false when too many of the provider are in flight. */
export async function insertLogin(db: Database, login: NewLogin, now: Date, expiresAt: Date): Promise<boolean> {
  const inserted = await db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      INSERT INTO sso_login_sessions (state_hash, provider_id, generation, kind, user_id, session_id, redirect_url,
                                      request_id, secrets_sealed, created_at, expires_at)
      SELECT ${login.state_hash}::bytea, ${login.provider_id}::uuid, ${login.generation}::int, ${login.kind}::text,
             ${login.user_id}::uuid, ${login.session_id}::uuid, ${login.redirect_url}::text, ${login.request_id}::text,
             ${login.secrets_sealed}::bytea, ${now}::timestamptz, ${expiresAt}::timestamptz
      WHERE (SELECT count(*) FROM sso_login_sessions
             WHERE provider_id = ${login.provider_id} AND expires_at > ${now} AND consumed_at IS NULL) < ${maxPendingLogins}::int`),
  );
  return inserted === 1;
}

/** A login flow by its state, used up or not. */
export async function findLogin(db: Database, stateHash: Buffer): Promise<LoginRow | null> {
  const [row] = await db.read<LoginRow>(
    system,
    sql`SELECT ${columns} FROM sso_login_sessions WHERE state_hash = ${stateHash}`,
  );
  return row ?? null;
}

/**
 * Consumes a login flow, in a separate transaction: it cannot be used again, whatever follows. Null when it is not
 * alive.
 */
export async function consumeLogin(db: Database, stateHash: Buffer, now: Date): Promise<LoginRow | null> {
  const [row] = await db.inOneBatch(system, (tx) =>
    tx.query<LoginRow>(sql`
      WITH used AS (
        SELECT ${columns}, state_hash FROM sso_login_sessions
        WHERE state_hash = ${stateHash} AND consumed_at IS NULL AND expires_at > ${now} FOR UPDATE
      ), marked AS (
        UPDATE sso_login_sessions s SET consumed_at = ${now}, secrets_sealed = NULL, handle_hash = NULL
        FROM used WHERE s.state_hash = used.state_hash
      )
      SELECT ${columns} FROM used`),
  );
  return row ?? null;
}

/**
 * Stores the result of an assertion for the browser with the handle; false when a response already arrived, or the flow
 * has ended.
 */
export async function keepAssertion(
  tx: Tx,
  stateHash: Buffer,
  { sealed, handleHash }: { sealed: Buffer; handleHash: Buffer },
  now: Date,
): Promise<boolean> {
  const kept = await tx.execute(sql`
    UPDATE sso_login_sessions SET secrets_sealed = ${sealed}, handle_hash = ${handleHash}
    WHERE state_hash = ${stateHash} AND consumed_at IS NULL AND handle_hash IS NULL AND expires_at > ${now}`);
  return kept === 1;
}

/** Ends a login flow whose response was refused; one that has an accepted response continues. */
export async function endUnanswered(db: Database, stateHash: Buffer, now: Date): Promise<void> {
  await db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      UPDATE sso_login_sessions SET consumed_at = ${now}, secrets_sealed = NULL
      WHERE state_hash = ${stateHash} AND consumed_at IS NULL AND handle_hash IS NULL`),
  );
}

/** Notes an accepted assertion; false when it was accepted before. */
export async function insertAssertion(tx: Tx, providerId: string, hash: Buffer, expiresAt: Date): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO sso_assertions (provider_id, assertion_hash, expires_at) VALUES (${providerId}, ${hash}, ${expiresAt})
    ON CONFLICT DO NOTHING`);
  return inserted === 1;
}

export type CodeRow = { user_id: string; provider_id: string; generation: number; mfa: boolean; expires_at: Date };

export async function insertCode(tx: Tx, hash: Buffer, code: CodeRow, now: Date): Promise<void> {
  await tx.execute(sql`
    INSERT INTO sso_exchange_codes (code_hash, user_id, provider_id, generation, mfa, created_at, expires_at)
    VALUES (${hash}, ${code.user_id}, ${code.provider_id}, ${code.generation}, ${code.mfa}, ${now}, ${code.expires_at})`);
}

/** Consumes a code, in a separate transaction; null when there is no valid one. */
export async function consumeCode(db: Database, hash: Buffer, now: Date): Promise<CodeRow | null> {
  const [row] = await db.inOneBatch(system, (tx) =>
    tx.query<CodeRow>(sql`
      DELETE FROM sso_exchange_codes WHERE code_hash = ${hash}
      RETURNING user_id, provider_id, generation, mfa, expires_at`),
  );
  return row && row.expires_at > now ? row : null;
}

/** Removes expired rows: login flows an hour later, codes and assertions at once; returns their number. */
export function removeEnded(db: Database, now: Date): Promise<number> {
  const anHourAgo = new Date(now.getTime() - 3_600_000);
  return db.tx(system, async (tx) => {
    const removed = await Promise.all([
      tx.execute(sql`DELETE FROM sso_login_sessions WHERE expires_at < ${anHourAgo}`),
      tx.execute(sql`DELETE FROM sso_exchange_codes WHERE expires_at < ${now}`),
      tx.execute(sql`DELETE FROM sso_assertions WHERE expires_at < ${now}`),
    ]);
    return removed.reduce((sum, n) => sum + n, 0);
  });
}
