import { type Query, sql, type Tx } from "@muster/db";
import {
  type ClaimedAddress,
  domainsOf,
  formsOf,
  type Holder,
  type Proof,
  type Tenant,
} from "../rules/address-owner.ts";
import { ownerOf } from "../rules/owner.ts";

type HolderRow = {
  user_id: string;
  partner_id: string | null;
  org_id: string | null;
  is_account: boolean;
  email_proof: Proof | null;
};

/**
 * Makes claims of one address wait for each other, and for verifications of its domains, until the transaction ends.
 * Taken before any row of a user: who holds such a row and waits here would wait for ever.
 */
export async function lockAddress(tx: Tx, email: string): Promise<void> {
  const names = domainsOf(email).map(domainLock).sort();
  await Promise.all([
    tx.query(sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest(${names}::text[]) AS name`),
    tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('identity.address/' || lower(${email}), 0))`),
  ]);
}

/** Makes a change of a domain's owner wait for claims of its addresses in flight, and new ones for the change. */
export async function lockDomainOwner(tx: Tx, domain: string): Promise<void> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${domainLock(domain)}, 0))`);
}

const domainLock = (domain: string) => `identity.domain/${domain}`;

/** The tenant that verified the nearest domain of an address, with that domain; or null. */
export async function ownerOfAddress(tx: Tx, email: string): Promise<(Tenant & { domain: string }) | null> {
  const [row] = await tx.query<Pick<HolderRow, "partner_id" | "org_id"> & { domain: string }>(
    sql`SELECT domain, partner_id, org_id FROM find_domain_owner(${domainsOf(email)})`,
  );
  return row ? { ...ownerOf(row), domain: row.domain } : null;
}

/** Accounts and, apart from them, invitations with an address, in any tenant, case-insensitively. */
export async function findHolders(tx: Tx, email: string): Promise<(Holder & { isAccount: boolean })[]> {
  const rows = await tx.query<HolderRow>(
    sql`SELECT user_id, partner_id, org_id, is_account, email_proof FROM find_email_holders(${email})`,
  );
  return rows.map((row) => ({
    userId: row.user_id,
    tenant: ownerOf(row),
    proof: row.email_proof,
    isAccount: row.is_account,
  }));
}

/** Notes how the address of an account was proven; a weaker proof replaces none. */
export async function storeProof(tx: Tx, userId: string, { proof }: ClaimedAddress): Promise<void> {
  await tx.execute(sql`
    UPDATE users SET email_proof = ${proof}
    WHERE id = ${userId} AND ${proof}::text IS NOT NULL AND email_proof IS DISTINCT FROM 'mailbox'`);
}

export type YieldingRow = {
  id: string;
  email: string;
  name: string;
  partner_id: string | null;
  org_id: string | null;
  email_proof: Proof | null;
};

const isAccount = sql`(u.status = 'active' OR u.password_hash IS NOT NULL OR u.last_login_at IS NOT NULL)`;
const inDomain = (domain: string): Query => sql`u.id IN (SELECT find_users_in_domain(${formsOf(domain)}))`;

/** No verified domain below this one is nearer to the address. */
const hasNoNearer = (domain: string): Query => sql`NOT EXISTS (
  SELECT FROM sso_domains d WHERE d.verified_at IS NOT NULL AND d.domain LIKE '%.' || ${domain}
    AND '.' || lower(substring(u.email FROM '[^@]*$')) LIKE '%.' || d.domain)`;

/** Accounts by id, locked until the transaction ends. */
export const lockAccounts = (tx: Tx, ids: readonly string[]): Promise<YieldingRow[]> =>
  tx.query<YieldingRow>(sql`
    SELECT u.id, u.email, u.name, u.partner_id, u.org_id, u.email_proof FROM users u
    WHERE u.id = ANY (${[...ids]}::uuid[]) ORDER BY u.id FOR UPDATE`);

/** Accounts in a domain and below it whose mailbox is not proven, in tenants other than `owner`; locked. */
export const lockForeignAccounts = (tx: Tx, domain: string, owner: Tenant): Promise<YieldingRow[]> =>
  tx.query<YieldingRow>(sql`
    SELECT u.id, u.email, u.name, u.partner_id, u.org_id, u.email_proof FROM users u
    WHERE ${inDomain(domain)} AND ${isAccount} AND u.partner_id IS NOT NULL
      AND u.email_proof IS DISTINCT FROM 'mailbox'
      AND NOT (u.partner_id = ${owner.partnerId} AND u.org_id IS NOT DISTINCT FROM ${owner.orgId}::uuid)
    ORDER BY u.id FOR UPDATE`);

/** Gives accounts another address, unproven; returns their new versions by id. Links to the old one open nothing. */
export async function renameAddresses(
  tx: Tx,
  renamed: readonly { id: string; email: string }[],
  now: Date,
): Promise<Map<string, number>> {
  const [ids, emails] = [renamed.map(({ id }) => id), renamed.map(({ email }) => email)];
  const rows = await tx.query<{ id: string; version: number }>(sql`
    UPDATE users u SET email = r.email, email_proof = NULL, version = u.version + 1, updated_at = ${now}
    FROM unnest(${ids}::uuid[], ${emails}::text[]) AS r(id, email) WHERE u.id = r.id RETURNING u.id, u.version`);
  await tx.execute(sql`
    UPDATE password_resets SET used_at = ${now} WHERE user_id = ANY (${ids}::uuid[]) AND used_at IS NULL`);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/**
 * Proves the addresses of the owner's own accounts in its domain, except those that other accounts have too or that lie
 * below a domain which another tenant has verified; returns their number.
 */
export const proveOwnAccounts = (tx: Tx, domain: string, { partnerId, orgId }: Tenant): Promise<number> =>
  tx.execute(sql`
    UPDATE users u SET email_proof = 'domain'
    WHERE ${inDomain(domain)} AND ${isAccount} AND u.email_proof IS NULL
      AND u.partner_id = ${partnerId} AND u.org_id IS NOT DISTINCT FROM ${orgId}::uuid
      AND NOT EXISTS (SELECT FROM users o WHERE lower(o.email) = lower(u.email) AND o.id <> u.id AND o.status <> 'invited')
      AND ${hasNoNearer(domain)}`);

/** What a domain proved while a tenant had it counts no more; returns the number of accounts. */
export const forgetDomainProofs = (tx: Tx, domain: string, { partnerId }: Tenant): Promise<number> =>
  tx.execute(sql`
    UPDATE users u SET email_proof = NULL
    WHERE ${inDomain(domain)} AND u.email_proof = 'domain' AND u.partner_id = ${partnerId} AND ${hasNoNearer(domain)}`);
