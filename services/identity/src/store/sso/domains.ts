import { type Database, isUniqueViolation, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import { ownerOf } from "../../rules/owner.ts";
import type { Owner } from "../../rules/sso/provider.ts";
import type { Tenant } from "../api-keys.ts";
import { ownerVisibleTo } from "./providers.ts";

export type DomainRow = {
  id: string;
  partner_id: string;
  org_id: string | null;
  domain: string;
  token: string;
  verified_at: Date | null;
  last_checked_at: Date | null;
  last_error: string | null;
  created_by: string;
  created_at: Date;
};

const columns = sql`t.id, t.partner_id, t.org_id, t.domain, t.token, t.verified_at, t.last_checked_at, t.last_error,
  t.created_by, t.created_at`;
const system = { caller: systemCaller("identity") };

/** Claims a domain for an owner; null when the owner has claimed it before. */
export async function insertDomain(
  tx: Tx,
  d: { id: string; owner: Owner; domain: string; token: string; createdBy: string },
  now: Date,
): Promise<DomainRow | null> {
  const [row] = await tx.query<DomainRow>(sql`
    INSERT INTO sso_domains AS t (id, partner_id, org_id, domain, token, created_by, created_at)
    VALUES (${d.id}, ${d.owner.partnerId}, ${d.owner.orgId}, ${d.domain}, ${d.token}, ${d.createdBy}, ${now})
    ON CONFLICT (coalesce(org_id, partner_id), domain) DO NOTHING RETURNING ${columns}`);
  return row ?? null;
}

export async function findDomain(db: Database, who: CallContext, id: string): Promise<DomainRow | null> {
  const [row] = await db.read<DomainRow>(
    who,
    sql`SELECT ${columns} FROM sso_domains t WHERE t.id = ${id} AND ${ownerVisibleTo(who.caller)}`,
  );
  return row ?? null;
}

export async function lockDomain(tx: Tx, caller: Caller, id: string): Promise<DomainRow | null> {
  const [row] = await tx.query<DomainRow>(
    sql`SELECT ${columns} FROM sso_domains t WHERE t.id = ${id} AND ${ownerVisibleTo(caller)} FOR UPDATE OF t`,
  );
  return row ?? null;
}

export function listDomains(
  db: Database,
  who: CallContext,
  { orgId, ofPartner }: { orgId: string | null; ofPartner: boolean | null },
  page: Page,
): Promise<ListPage<DomainRow>> {
  const byOrg = orgId === null ? sql`true` : sql`t.org_id = ${orgId}`;
  const byOwner = ofPartner === null ? sql`true` : ofPartner ? sql`t.org_id IS NULL` : sql`t.org_id IS NOT NULL`;
  const list = {
    table: sql`sso_domains`,
    columns,
    where: sql`${byOrg} AND ${byOwner}`,
    visible: ownerVisibleTo(who.caller),
  };
  return readNewestPage<DomainRow>(db, who, list, page);
}

export async function countDomains(tx: Tx, { partnerId, orgId }: Owner): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*)::int AS n FROM sso_domains
    WHERE partner_id = ${partnerId} AND org_id IS NOT DISTINCT FROM ${orgId}::uuid`);
  return row?.n ?? 0;
}

/**
 * Notes a look-up; what was verified stays so. Throws a unique violation (`isDomainTaken`) when another owner has the
 * domain.
 */
export async function noteCheck(tx: Tx, id: string, error: string | null, now: Date): Promise<DomainRow> {
  const [row] = await tx.query<DomainRow>(sql`
    UPDATE sso_domains t SET last_checked_at = ${now}, last_error = ${error},
      verified_at = CASE WHEN ${error}::text IS NULL THEN coalesce(t.verified_at, ${now}) ELSE t.verified_at END
    WHERE t.id = ${id} RETURNING ${columns}`);
  if (!row) throw new Error("a domain that was locked has gone");
  return row;
}

export const isDomainTaken = (error: unknown) => isUniqueViolation(error, "sso_domains_verified");

export async function deleteDomain(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM sso_domains WHERE id = ${id}`);
}

/** Releases the domains of a tenant that has ended: another tenant may verify them. */
export function deleteTenantDomains(tx: Tx, { kind, id }: Tenant): Promise<DomainRow[]> {
  const where = kind === "organization" ? sql`t.org_id = ${id}` : sql`t.partner_id = ${id}`;
  return tx.query<DomainRow>(sql`DELETE FROM sso_domains t WHERE ${where} RETURNING ${columns}`);
}

/** The owner that has verified a domain; no two have. */
export async function ownerOfDomain(db: Database, domain: string): Promise<Owner | null> {
  const [row] = await db.read<Pick<DomainRow, "partner_id" | "org_id">>(
    system,
    sql`SELECT partner_id, org_id FROM sso_domains WHERE domain = ${domain} AND verified_at IS NOT NULL`,
  );
  return row ? ownerOf(row) : null;
}

/** Verified domains that were not looked up since then, the longest waiting first. */
export function staleDomains(db: Database, before: Date, limit: number): Promise<DomainRow[]> {
  return db.read<DomainRow>(
    system,
    sql`SELECT ${columns} FROM sso_domains t WHERE t.verified_at IS NOT NULL AND t.last_checked_at < ${before}
        ORDER BY t.last_checked_at LIMIT ${limit}`,
  );
}
