import { type Database, sql, type Tx } from "@muster/db";
import { type CallContext, type Page, type PortalCapability, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import type { PortalFields } from "../rules/portal-link.ts";
import { type BrandingRow, brandingOf } from "./sso/branding.ts";

export type PortalLinkRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  capabilities: PortalCapability[];
  embed_origins: string[];
  refresh_url: string | null;
  author_type: "user" | "api_key";
  author_id: string;
  author_name: string | null;
  created_at: Date;
  expires_at: Date;
  opened_at: Date | null;
  revoked_at: Date | null;
};

/** A session as it calls: not over, its author still allowed to create it. */
export type PortalSessionRow = PortalLinkRow & { partner_status: string; org_status: string };

const system = { caller: systemCaller("identity") };

const columns = sql`t.id, t.org_id, t.partner_id, t.name, t.capabilities, t.embed_origins, t.refresh_url, t.author_type,
  t.author_id, t.author_name, t.created_at, t.expires_at, t.opened_at, t.revoked_at`;

const lasts = sql`t.revoked_at IS NULL AND t.expires_at > now()`;

/** Whoever created the link could create it now: a link ends with its author's right to it. */
const authorHolds = sql`CASE t.author_type
  WHEN 'api_key' THEN EXISTS (
    SELECT FROM api_keys k WHERE k.id = t.author_id AND k.org_id = t.org_id AND k.status = 'active'
      AND (k.expires_at IS NULL OR k.expires_at > now()) AND k.scopes && '{webhooks:write,*}')
  ELSE EXISTS (
    SELECT FROM users u JOIN roles r ON r.id = u.role_id
    WHERE u.id = t.author_id AND u.status = 'active' AND NOT u.site_restricted AND 'webhooks:write' = ANY (r.permissions)
      AND CASE u.scope
        WHEN 'system' THEN true
        WHEN 'organization' THEN u.org_id = t.org_id
        ELSE u.partner_id = t.partner_id AND (u.org_access = 'all' OR EXISTS (
          SELECT FROM user_organizations g WHERE g.user_id = u.id AND g.org_id = t.org_id)) END) END`;

const statusOf = (kind: string, id: ReturnType<typeof sql>) => sql`
  coalesce((SELECT CASE WHEN n.deleted THEN 'deleted' ELSE n.status END FROM tenant n
            WHERE n.kind = ${kind} AND n.id = ${id}), 'unknown')`;

export type NewPortalLink = Omit<PortalFields, "minutes"> & {
  id: string;
  orgId: string;
  partnerId: string;
  codeDigest: Buffer;
  author: { type: "user" | "api_key"; id: string; name: string | null };
  expiresAt: Date;
};

export async function insertPortalLink(tx: Tx, link: NewPortalLink, now: Date): Promise<PortalLinkRow> {
  const { author } = link;
  const [row] = await tx.query<PortalLinkRow>(sql`
    INSERT INTO portal_links AS t (id, org_id, partner_id, name, capabilities, embed_origins, refresh_url, code_digest,
                                   author_type, author_id, author_name, created_at, expires_at)
    VALUES (${link.id}, ${link.orgId}, ${link.partnerId}, ${link.name}, ${[...link.capabilities]}::text[],
            ${[...link.embedOrigins]}::text[], ${link.refreshUrl}, ${link.codeDigest}, ${author.type}, ${author.id},
            ${author.name}, ${now}, ${link.expiresAt})
    RETURNING ${columns}`);
  if (!row) throw new Error("a portal link was not stored");
  return row;
}

/** Second key of the advisory locks of organizations. */
const linksOfOrganization = 7_166_340_218;

/** Links of an organization that are neither revoked nor over; exact until the end of the transaction. */
export async function countOpenLinks(tx: Tx, orgId: string): Promise<number> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${orgId}, ${linksOfOrganization}::bigint))`);
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*)::int AS n FROM portal_links t WHERE t.org_id = ${orgId}::uuid AND ${lasts}`,
  );
  return row?.n ?? 0;
}

export function listPortalLinks(
  db: Database,
  who: CallContext,
  orgId: string | null,
  page: Page,
): Promise<ListPage<PortalLinkRow>> {
  const where = orgId === null ? sql`true` : sql`t.org_id = ${orgId}`;
  return readNewestPage<PortalLinkRow>(db, who, { table: sql`portal_links`, columns, where }, page);
}

/** A link in the caller's access scope, locked until the end of the transaction. */
export async function lockPortalLink(tx: Tx, { caller }: CallContext, id: string): Promise<PortalLinkRow | null> {
  const [row] = await tx.query<PortalLinkRow>(
    sql`SELECT ${columns} FROM portal_links t WHERE t.id = ${id} AND ${visibleTo(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

export async function markRevoked(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE portal_links SET revoked_at = ${now} WHERE id = ${id}`);
}

/** The link of this id and code, which is used up by it; null when it is unknown, used, over or revoked. */
export async function openPortalLink(
  tx: Tx,
  { id, codeDigest, tokenDigest }: { id: string; codeDigest: Buffer; tokenDigest: Buffer },
): Promise<PortalLinkRow | null> {
  const [row] = await tx.query<PortalLinkRow>(sql`
    UPDATE portal_links AS t SET token_digest = ${tokenDigest}, opened_at = now()
    WHERE t.id = ${id} AND t.code_digest = ${codeDigest} AND t.opened_at IS NULL AND ${lasts} AND ${authorHolds}
    RETURNING ${columns}`);
  return row ?? null;
}

export async function findPortalSession(db: Database, digest: Uint8Array): Promise<PortalSessionRow | null> {
  const [row] = await db.read<PortalSessionRow>(
    system,
    sql`SELECT ${columns}, ${statusOf("partner", sql`t.partner_id`)} AS partner_status,
               ${statusOf("organization", sql`t.org_id`)} AS org_status
        FROM portal_links t WHERE t.token_digest = ${Buffer.from(digest)} AND ${lasts} AND ${authorHolds}`,
  );
  return row ?? null;
}

/** What the page of a link shows before it has a session; also of a link that is over, until its row is removed. */
export async function findPortalPage(
  db: Database,
  id: string,
): Promise<{ link: PortalLinkRow; branding: BrandingRow } | null> {
  const [link] = await db.read<PortalLinkRow>(system, sql`SELECT ${columns} FROM portal_links t WHERE t.id = ${id}`);
  return link ? { link, branding: await brandingOf(db, link.partner_id) } : null;
}

/** Removes links that ended a day ago, up to `limit`; returns their number. Index portal_links_expiry. */
export function removeOldLinks(db: Database, limit: number): Promise<number> {
  return db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      DELETE FROM portal_links WHERE id IN (
        SELECT id FROM portal_links WHERE expires_at < now() - interval '1 day' ORDER BY expires_at LIMIT ${limit})`),
  );
}
