import { type Database, sql, type Tx } from "@muster/db";
import { before, conditions, named, nonEmpty, type Rows } from "@muster/db/builder";
import { type CallContext, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import type { NewApiKey } from "../rules/api-key.ts";
import type { KeyMaterial } from "../rules/key-material.ts";

export type ApiKeyRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  key_prefix: string;
  digest: Buffer;
  previous_digest: Buffer | null;
  scopes: string[];
  allowed_ips: string[];
  rate_limit: number;
  status: string;
  expires_at: Date | null;
  last_used_at: Date | null;
  usage_count: number;
  principal_id: string | null;
  version: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`id, org_id, partner_id, name, key_prefix, digest, previous_digest, scopes, allowed_ips, rate_limit,
  status, expires_at, last_used_at, usage_count, principal_id, version, created_by, created_at, updated_at`;

export type Owner = { orgId: string; partnerId: string; createdBy: string; principalId: string | null };

/** Inserts an active key. */
export async function insertApiKey(
  tx: Tx,
  id: string,
  key: NewApiKey & Owner,
  { prefix, digest }: KeyMaterial,
  now: Date,
): Promise<ApiKeyRow> {
  return only(
    await tx.query<ApiKeyRow>(sql`
      INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, allowed_ips, rate_limit, status,
                            expires_at, principal_id, created_by, created_at, updated_at)
      VALUES (${id}, ${key.orgId}, ${key.partnerId}, ${key.name}, ${prefix}, ${digest}, ${[...key.scopes]}::text[],
              ${[...key.allowedIps]}::text[], ${key.rateLimit}, 'active', ${key.expiresAt}, ${key.principalId},
              ${key.createdBy}, ${now}, ${now})
      RETURNING ${columns}`),
  );
}

/** One key, or null when missing or not visible to the caller. */
export async function findApiKey(db: Database, who: CallContext, id: string): Promise<ApiKeyRow | null> {
  const [row] = await db.read<ApiKeyRow>(
    who,
    sql`SELECT ${columns} FROM api_keys t WHERE id = ${id} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** That key, locked until the end of the transaction. */
export async function lockApiKey(tx: Tx, who: CallContext, id: string): Promise<ApiKeyRow | null> {
  const [row] = await tx.query<ApiKeyRow>(
    sql`SELECT ${columns} FROM api_keys t WHERE id = ${id} AND ${visibleTo(who.caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** The active keys of a principal and, with `keyId`, that key of the same organization; locked in a fixed order. */
export function lockPrincipalKeys(
  tx: Tx,
  principal: { id: string; org_id: string },
  keyId: string | null = null,
): Promise<ApiKeyRow[]> {
  return tx.query<ApiKeyRow>(sql`
    SELECT ${columns} FROM api_keys
    WHERE (principal_id = ${principal.id} AND status = 'active')
       OR (id = ${keyId}::uuid AND org_id = ${principal.org_id})
    ORDER BY id FOR UPDATE`);
}

/** An empty text or null does not filter. */
export type ApiKeyFilter = {
  orgId: string | null;
  status: string | null;
  search: string;
  expiresBefore: Date | null;
};

/** A page of keys, newest first (indexes api_keys_…newest, …by_status, …ending). A passed expiry counts as expired. */
export function listApiKeys(
  db: Database,
  who: CallContext,
  { orgId, status, search, expiresBefore }: ApiKeyFilter,
  now: Date,
  page: Page,
): Promise<ListPage<ApiKeyRow>> {
  const where = conditions((rows) =>
    rows
      .where(nonEmpty({ org_id: orgId }))
      .modify(hasStatus, status, now)
      .modify(isFound, search)
      .modify(before, "expires_at", expiresBefore),
  );
  return readNewestPage<ApiKeyRow>(db, who, { table: sql`api_keys`, columns, where }, page);
}

function hasStatus(rows: Rows, status: string | null, now: Date): void {
  const isOver = (key: Rows) => key.where("status", "active").where("expires_at", "<=", now);
  if (status === "expired") rows.where((key) => key.where("status", "expired").orWhere(isOver));
  else if (status !== null) rows.where("status", status);
  if (status === "active") rows.where((key) => key.whereNull("expires_at").orWhere("expires_at", ">", now));
}

/** By a part of the name, or the beginning of the key. */
function isFound(rows: Rows, search: string): void {
  if (search === "") return;
  rows.where((key) => key.modify(named, "name", search).orWhereRaw("starts_with(key_prefix, ?)", [search]));
}

/** Marks up to `limit` keys as expired that were not presented since their expiry; returns their number. */
export function markEndedKeys(db: Database, limit: number): Promise<number> {
  return db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      UPDATE api_keys SET status = 'expired'
      WHERE status = 'active' AND id IN (
        SELECT id FROM api_keys WHERE status = 'active' AND expires_at <= clock_timestamp()
        ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`),
  );
}

export type ApiKeyChange = {
  name: string;
  scopes: readonly string[];
  rateLimit: number;
  allowedIps: readonly string[];
};

/** Writes the fields of a locked key. */
export async function updateApiKey(tx: Tx, id: string, key: ApiKeyChange, now: Date): Promise<ApiKeyRow> {
  return only(
    await tx.query<ApiKeyRow>(sql`
      UPDATE api_keys
      SET name = ${key.name}, scopes = ${[...key.scopes]}::text[], rate_limit = ${key.rateLimit},
          allowed_ips = ${[...key.allowedIps]}::text[], version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`),
  );
}

/** New material for a locked key, its usage reset; with `graceUntil` the old secret stays valid until then. */
export async function rotateApiKey(
  tx: Tx,
  id: string,
  { prefix, digest }: KeyMaterial,
  graceUntil: Date | null,
  now: Date,
): Promise<ApiKeyRow> {
  return only(
    await tx.query<ApiKeyRow>(sql`
      UPDATE api_keys
      SET key_prefix = ${prefix}, digest = ${digest},
          previous_digest = CASE WHEN ${graceUntil}::timestamptz IS NULL THEN NULL ELSE digest END,
          previous_valid_until = ${graceUntil}::timestamptz, last_used_at = NULL, usage_count = 0,
          generation = generation + 1, version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`),
  );
}

/** Revokes locked keys; those revoked before stay as they are. */
export function revokeApiKeys(tx: Tx, ids: readonly string[], now: Date): Promise<ApiKeyRow[]> {
  return tx.query<ApiKeyRow>(sql`
    UPDATE api_keys SET status = 'revoked', revoked_at = ${now}, version = version + 1, updated_at = ${now}
    WHERE id = ANY (${[...ids]}::uuid[]) AND status <> 'revoked' RETURNING ${columns}`);
}

/**
 * Assigns a locked key to a principal with the scopes that both allow; ends a running grace, as a principal has one
 * secret.
 */
export async function adoptApiKey(
  tx: Tx,
  id: string,
  { principalId, scopes }: { principalId: string; scopes: readonly string[] },
  now: Date,
): Promise<ApiKeyRow> {
  return only(
    await tx.query<ApiKeyRow>(sql`
      UPDATE api_keys
      SET principal_id = ${principalId}, scopes = ${[...scopes]}::text[], previous_digest = NULL, previous_valid_until = NULL,
          version = version + 1, updated_at = ${now}
      WHERE id = ${id} RETURNING ${columns}`),
  );
}

export type Tenant = { kind: "partner" | "organization"; id: string };

/** Revokes every key of a tenant. */
export function revokeTenantApiKeys(tx: Tx, tenant: Tenant, now: Date): Promise<ApiKeyRow[]> {
  return tx.query<ApiKeyRow>(sql`
    UPDATE api_keys SET status = 'revoked', revoked_at = ${now}, version = version + 1, updated_at = ${now}
    WHERE ${ofTenant(tenant)} AND status <> 'revoked' RETURNING ${columns}`);
}

/** Keys of a tenant that a user has created and that are not revoked, the first of them. */
export const keysCreatedBy = (
  tx: Tx,
  userId: string,
  limit: number,
): Promise<{ id: string; name: string; keyPrefix: string }[]> =>
  tx.query(sql`
    SELECT id, name, key_prefix AS "keyPrefix" FROM api_keys
    WHERE created_by = ${userId} AND status = 'active' ORDER BY created_at LIMIT ${limit}`);

/** Rows of a partner or an organization. */
export function ofTenant({ kind, id }: Tenant) {
  return kind === "partner" ? sql`partner_id = ${id}` : sql`org_id = ${id}`;
}

function only(rows: ApiKeyRow[]): ApiKeyRow {
  const [row] = rows;
  if (!row) throw new Error("an API key that was locked has gone");
  return row;
}
