import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ClaimedAddress } from "../rules/address-owner.ts";

export type TokenHolder = { id: string; user_id: string; expires_at: Date; used_at: Date | null };

export type NewInvite = {
  id: string;
  userId: string;
  partnerId: string | null;
  orgId: string | null;
  hash: Buffer;
  /** Only the mail carries the link. */
  byMailAlone: boolean;
  /** The partner invites, or the platform for it. */
  ofPartner: boolean;
  /** The inviter's name. */
  invitedBy: string;
  now: Date;
  expiresAt: Date;
};

export async function insertInvite(tx: Tx, invite: NewInvite): Promise<void> {
  await tx.execute(sql`
    INSERT INTO invites (id, user_id, partner_id, org_id, token_hash, by_mail_alone, of_partner, invited_by, created_at,
                         expires_at)
    VALUES (${invite.id}, ${invite.userId}, ${invite.partnerId}, ${invite.orgId}, ${invite.hash}, ${invite.byMailAlone},
            ${invite.ofPartner}, ${invite.invitedBy}, ${invite.now}, ${invite.expiresAt})`);
}

/** The invitation behind a token, used or not; called before authentication. */
export async function findInvite(db: Database, hash: Buffer): Promise<TokenHolder | null> {
  const [row] = await db.read<TokenHolder>(
    { caller: null },
    sql`SELECT id, user_id, expires_at, used_at FROM find_invite(${hash})`,
  );
  return row ?? null;
}

/** The inviter's name; null when it is not known. */
export async function inviterOf(db: Database, id: string): Promise<string | null> {
  const [row] = await db.read<{ invited_by: string | null }>(
    { caller: systemCaller("identity") },
    sql`SELECT invited_by FROM invites WHERE id = ${id}`,
  );
  return row?.invited_by ?? null;
}

export type OpenInvite = { byMailAlone: boolean; ofPartner: boolean };

/** An open invitation, locked until the transaction ends; null when it was already used, or has expired. */
export async function lockInvite(tx: Tx, id: string, now: Date): Promise<OpenInvite | null> {
  const [open] = await tx.query<OpenInvite>(sql`
    SELECT by_mail_alone AS "byMailAlone", of_partner AS "ofPartner" FROM invites
    WHERE id = ${id} AND accepted_at IS NULL AND expires_at > ${now} FOR UPDATE`);
  return open ?? null;
}

/** Consumes a locked invitation. */
export async function useInvite(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE invites SET accepted_at = ${now} WHERE id = ${id}`);
}

/** Makes an invited user active and returns their new version; null when they are not waiting any more. */
export async function activateUser(
  tx: Tx,
  { proof }: ClaimedAddress,
  user: { id: string; passwordHash: string; name: string | null },
  now: Date,
): Promise<number | null> {
  const [row] = await tx.query<{ version: number }>(sql`
    UPDATE users
    SET status = 'active', password_hash = ${user.passwordHash}, name = coalesce(${user.name}, name),
        email_proof = ${proof}, version = version + 1, updated_at = ${now}
    WHERE id = ${user.id} AND status = 'invited' RETURNING version`);
  return row?.version ?? null;
}

/** Withdraws the open invitations of a user; returns their number. */
export function withdrawInvites(tx: Tx, userId: string): Promise<number> {
  return tx.execute(sql`DELETE FROM invites WHERE user_id = ${userId} AND accepted_at IS NULL`);
}
