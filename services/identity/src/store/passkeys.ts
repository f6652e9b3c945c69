import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { ProofOf } from "../rules/factors.ts";

export type PasskeyRow = {
  id: string;
  credential_id: Buffer;
  public_key: Buffer;
  counter: number;
  transports: string[];
  backed_up: boolean;
  name: string;
  created_at: Date;
  last_used_at: Date | null;
};

const columns = sql`id, credential_id, public_key, counter::float8 AS counter, transports, backed_up, name, created_at, last_used_at`;

export type NewPasskey = {
  id: string;
  userId: string;
  credentialId: Buffer;
  publicKey: Buffer;
  counter: number;
  transports: readonly string[];
  aaguid: string;
  multiDevice: boolean;
  backedUp: boolean;
  name: string;
  now: Date;
};

/** Stores a passkey; null when the authenticator's credential is known already, whosever it is. */
export async function insertPasskey(tx: Tx, p: NewPasskey): Promise<PasskeyRow | null> {
  const [row] = await tx.query<PasskeyRow>(sql`
    INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, aaguid, multi_device, backed_up, name,
                          created_at)
    VALUES (${p.id}, ${p.userId}, ${p.credentialId}, ${p.publicKey}, ${p.counter}, ${[...p.transports]}::text[], ${p.aaguid},
            ${p.multiDevice}, ${p.backedUp}, ${p.name}, ${p.now})
    ON CONFLICT (credential_id) DO NOTHING RETURNING ${columns}`);
  return row ?? null;
}

/** The user's passkeys, oldest first. Index passkeys_user. */
export function findPasskeys(tx: Tx, userId: string): Promise<PasskeyRow[]> {
  return tx.query<PasskeyRow>(sql`
    SELECT ${columns} FROM passkeys WHERE user_id = ${userId} ORDER BY created_at, id`);
}

export function listOwnPasskeys(db: Database, who: CallContext): Promise<PasskeyRow[]> {
  return db.read<PasskeyRow>(
    who,
    sql`SELECT ${columns} FROM passkeys WHERE user_id = ${who.caller.actor.id} ORDER BY created_at, id`,
  );
}

export async function findCredential(tx: Tx, userId: string, credentialId: Buffer): Promise<PasskeyRow | null> {
  const [row] = await tx.query<PasskeyRow>(sql`
    SELECT ${columns} FROM passkeys WHERE user_id = ${userId} AND credential_id = ${credentialId} FOR UPDATE`);
  return row ?? null;
}

/** Notes a use with the authenticator's counter and whether it is backed up by now. */
export async function recordPasskeyUse(
  tx: Tx,
  id: string,
  { counter, backedUp }: { counter: number; backedUp: boolean },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    UPDATE passkeys SET counter = ${counter}, backed_up = ${backedUp}, last_used_at = ${now} WHERE id = ${id}`);
}

/** Renames a passkey; returns its previous name and the record, or null when it does not exist. */
export async function renamePasskey(
  tx: Tx,
  userId: string,
  id: string,
  name: string,
): Promise<{ before: string; row: PasskeyRow } | null> {
  const [old] = await tx.query<{ name: string }>(sql`
    SELECT name FROM passkeys WHERE id = ${id} AND user_id = ${userId} FOR UPDATE`);
  if (!old) return null;
  const [row] = await tx.query<PasskeyRow>(
    sql`UPDATE passkeys SET name = ${name} WHERE id = ${id} RETURNING ${columns}`,
  );
  return row ? { before: old.name, row } : null;
}

/** Removes a passkey; returns its name, or null when it does not exist. */
export async function removePasskey(tx: Tx, userId: string, id: string): Promise<string | null> {
  const [row] = await tx.query<{ name: string }>(sql`
    DELETE FROM passkeys WHERE id = ${id} AND user_id = ${userId} RETURNING name`);
  return row?.name ?? null;
}

export type PasskeyPurpose = "register" | "authenticate";

/** Challenges that may wait for an answer at once, per user. */
const openMax = 20;

/** Stores an issued challenge; deletes the user's expired ones, and the oldest when there are too many. */
export async function insertPasskeyChallenge(
  tx: Tx,
  challenge: { hash: Buffer; userId: string; purpose: PasskeyPurpose; about: ProofOf; now: Date; expiresAt: Date },
): Promise<void> {
  const { userId, about } = challenge;
  await tx.execute(sql`
    DELETE FROM passkey_challenges WHERE user_id = ${userId} AND (expires_at < ${challenge.now} OR challenge_hash IN (
      SELECT challenge_hash FROM passkey_challenges WHERE user_id = ${userId}
      ORDER BY expires_at DESC OFFSET ${openMax - 1}))`);
  const [sessionId, mfaChallengeId] = "sessionId" in about ? [about.sessionId, null] : [null, about.mfaChallengeId];
  await tx.execute(sql`
    INSERT INTO passkey_challenges (challenge_hash, user_id, purpose, session_id, mfa_challenge_id, expires_at)
    VALUES (${challenge.hash}, ${userId}, ${challenge.purpose}, ${sessionId}, ${mfaChallengeId}, ${challenge.expiresAt})`);
}

/**
 * Consumes a challenge: true when it was issued to this user, for this purpose and this sign-in, and has not expired.
 */
export async function takePasskeyChallenge(
  tx: Tx,
  wanted: { hash: Buffer; userId: string; purpose: PasskeyPurpose; about: ProofOf; now: Date },
): Promise<boolean> {
  const { about } = wanted;
  const [sessionId, mfaChallengeId] = "sessionId" in about ? [about.sessionId, null] : [null, about.mfaChallengeId];
  const [row] = await tx.query<{ good: boolean }>(sql`
    DELETE FROM passkey_challenges WHERE challenge_hash = ${wanted.hash} AND user_id = ${wanted.userId}
    RETURNING purpose = ${wanted.purpose} AND session_id IS NOT DISTINCT FROM ${sessionId}::uuid
              AND mfa_challenge_id IS NOT DISTINCT FROM ${mfaChallengeId}::uuid AND expires_at > ${wanted.now} AS good`);
  return row?.good ?? false;
}
