import { type Database, isUniqueViolation, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ClaimedAddress } from "../../rules/address-owner.ts";
import type { Owner } from "../../rules/sso/provider.ts";
import type { Candidate } from "../../rules/sso/who-is-let-in.ts";

const system = { caller: systemCaller("identity") };

export type LinkedUser = { userId: string; status: Candidate["status"] };

/** The account that an external id of a provider is linked to, held until the transaction ends. */
export async function findLinked(tx: Tx, providerId: string, externalId: string): Promise<LinkedUser | null> {
  const [row] = await tx.query<LinkedUser>(sql`
    SELECT u.id AS "userId", u.status FROM sso_identities i JOIN users u ON u.id = i.user_id
    WHERE i.provider_id = ${providerId} AND i.external_id = ${externalId} FOR SHARE OF u`);
  return row ?? null;
}

/**
 * The user with an e-mail address in a provider's tenant, an account before an invitation; locked until the transaction
 * ends. Platform administrators belong to no tenant.
 */
export async function findCandidate(
  tx: Tx,
  { partnerId, orgId }: Owner,
  email: string,
  identity: { providerId: string; externalId: string },
): Promise<Candidate | null> {
  const [row] = await tx.query<Candidate>(sql`
    SELECT u.id AS "userId", u.status, u.password_hash IS NOT NULL AS "hasPassword",
           EXISTS (SELECT FROM sso_identities i WHERE i.provider_id = ${identity.providerId} AND i.user_id = u.id
                   AND i.external_id <> ${identity.externalId}) AS "linkedOtherwise"
    FROM users u
    WHERE u.id = ANY (ARRAY(SELECT user_id FROM find_email_holders(${email}))) AND u.partner_id = ${partnerId}
      AND u.org_id IS NOT DISTINCT FROM ${orgId}::uuid
    ORDER BY u.status = 'active' DESC, u.status = 'disabled' DESC LIMIT 1 FOR UPDATE OF u`);
  return row ?? null;
}

export type LinkValues = {
  providerId: string;
  userId: string;
  owner: Owner;
  externalId: string;
  email: string | null;
  profile: Record<string, unknown>;
  tokensSealed: Buffer | null;
  tokenExpiresAt: Date | null;
};

/** Creates or updates the link. False when the external id belongs to another user. */
export async function putLink(tx: Tx, link: LinkValues, now: Date): Promise<boolean> {
  const [taken] = await tx.query<{ user_id: string }>(sql`
    SELECT user_id FROM sso_identities
    WHERE provider_id = ${link.providerId} AND external_id = ${link.externalId} AND user_id <> ${link.userId}`);
  if (taken) return false;
  await tx.execute(sql`
    INSERT INTO sso_identities (provider_id, user_id, partner_id, org_id, external_id, email, profile, tokens_sealed,
                                token_expires_at, last_login_at, created_at)
    VALUES (${link.providerId}, ${link.userId}, ${link.owner.partnerId}, ${link.owner.orgId}, ${link.externalId},
            ${link.email}, ${JSON.stringify(link.profile)}::jsonb, ${link.tokensSealed}, ${link.tokenExpiresAt}, ${now}, ${now})
    ON CONFLICT (provider_id, user_id) DO UPDATE
    SET external_id = excluded.external_id, email = excluded.email, profile = excluded.profile,
        tokens_sealed = excluded.tokens_sealed, token_expires_at = excluded.token_expires_at, last_login_at = excluded.last_login_at`);
  return true;
}

/** Two links of one external id that came together: the second is refused by the index. */
export const isLinkTaken = (error: unknown) => isUniqueViolation(error, "sso_identities_external");

/** Links of a user, held until the transaction ends. */
export function lockLinks(
  tx: Tx,
  userId: string,
): Promise<{ provider_id: string; provider_name: string; is_active: boolean }[]> {
  return tx.query(sql`
    SELECT i.provider_id, p.name AS provider_name, p.status = 'active' AS is_active
    FROM sso_identities i JOIN sso_providers p ON p.id = i.provider_id WHERE i.user_id = ${userId} FOR UPDATE OF i`);
}

export async function deleteLink(tx: Tx, providerId: string, userId: string): Promise<void> {
  await tx.execute(sql`DELETE FROM sso_identities WHERE provider_id = ${providerId} AND user_id = ${userId}`);
}

/** Removes every link of a provider; resolves to how many. */
export const deleteLinksOf = (tx: Tx, providerId: string): Promise<number> =>
  tx.execute(sql`DELETE FROM sso_identities WHERE provider_id = ${providerId}`);

/** Lets an invited user in: the invitation's role, no password. Null when they are not waiting any more. */
export async function acceptWithoutPassword(
  tx: Tx,
  { proof }: ClaimedAddress,
  userId: string,
  now: Date,
): Promise<number | null> {
  const [row] = await tx.query<{ version: number }>(sql`
    UPDATE users SET status = 'active', email_proof = ${proof}, version = version + 1, updated_at = ${now}
    WHERE id = ${userId} AND status = 'invited' RETURNING version`);
  return row?.version ?? null;
}

/** Makes an account of an organization without a password. */
export async function insertProvisioned(
  tx: Tx,
  id: string,
  { email, proof }: ClaimedAddress,
  user: { name: string; owner: Owner; roleId: string },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO users (id, email, email_proof, name, scope, partner_id, org_id, role_id, org_access, status, created_at,
                       updated_at)
    VALUES (${id}, ${email}, ${proof}, ${user.name}, 'organization', ${user.owner.partnerId}, ${user.owner.orgId},
            ${user.roleId}, 'none', 'active', ${now}, ${now})`);
}

/** Two first sign-ins of one user, or another account of the address, came together. */
export const isAccountTaken = (error: unknown) =>
  isUniqueViolation(error, "users_email") || isUniqueViolation(error, "users_email_in_place");

/** Whether the account can be opened with a password. */
export async function hasPassword(db: Database, userId: string): Promise<boolean> {
  const rows = await db.read(system, sql`SELECT FROM users WHERE id = ${userId} AND password_hash IS NOT NULL`);
  return rows.length > 0;
}
