import { type Database, sql, type Tx } from "@muster/db";
import { conditions, named, nonEmpty } from "@muster/db/builder";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import { ofTenant, type Tenant } from "./api-keys.ts";

export type PrincipalRecord = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  scopes: string[];
  status: string;
  /** Of the active key. */
  key_prefix: string | null;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`id, org_id, partner_id, name, scopes, status, created_by, created_at, updated_at,
  (SELECT k.key_prefix FROM api_keys k WHERE k.principal_id = t.id AND k.status = 'active') AS key_prefix`;

export type NewPrincipal = {
  orgId: string;
  partnerId: string;
  name: string;
  scopes: readonly string[];
  createdBy: string;
};

/** Inserts an active principal. */
export async function insertPrincipal(tx: Tx, id: string, principal: NewPrincipal, now: Date): Promise<void> {
  await tx.execute(sql`
    INSERT INTO service_principals (id, org_id, partner_id, name, scopes, status, created_by, created_at, updated_at)
    VALUES (${id}, ${principal.orgId}, ${principal.partnerId}, ${principal.name}, ${[...principal.scopes]}::text[],
            'active', ${principal.createdBy}, ${now}, ${now})`);
}

/** One principal, or null when missing or not visible to the caller. */
export async function findServicePrincipal(
  db: Database,
  who: CallContext,
  id: string,
): Promise<PrincipalRecord | null> {
  const [row] = await db.read<PrincipalRecord>(
    who,
    sql`SELECT ${columns} FROM service_principals t WHERE id = ${id} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** The current state of a principal that is visible to the caller and that this transaction has locked or created. */
export async function readServicePrincipal(tx: Tx, id: string): Promise<PrincipalRecord> {
  const [row] = await tx.query<PrincipalRecord>(sql`SELECT ${columns} FROM service_principals t WHERE id = ${id}`);
  if (!row) throw new Error("a service principal that was locked has gone");
  return row;
}

/** That principal locked until the end of the transaction: one rotation or adoption at a time. */
export async function lockPrincipal(tx: Tx, who: CallContext, id: string): Promise<PrincipalRecord | null> {
  const isVisible = sql`id = ${id} AND ${visibleTo(who.caller)}`;
  // Read by a statement after the lock: the prefix is that of the key that the previous lock holder left.
  const [, [row]] = await Promise.all([
    tx.query(sql`SELECT FROM service_principals t WHERE ${isVisible} FOR UPDATE`),
    tx.query<PrincipalRecord>(sql`SELECT ${columns} FROM service_principals t WHERE ${isVisible}`),
  ]);
  return row ?? null;
}

/** A page of principals, newest first (indexes service_principals_…newest). */
export function listServicePrincipals(
  db: Database,
  who: CallContext,
  { orgId, status, search }: { orgId: string | null; status: string | null; search: string },
  page: Page,
): Promise<ListPage<PrincipalRecord>> {
  const where = conditions((rows) => rows.where(nonEmpty({ org_id: orgId, status })).modify(named, "name", search));
  return readNewestPage<PrincipalRecord>(db, who, { table: sql`service_principals`, columns, where }, page);
}

/** Notes that a locked principal's key is another one now. */
export async function touchPrincipal(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE service_principals SET updated_at = ${now} WHERE id = ${id}`);
}

/** Disables a locked principal. */
export async function disablePrincipal(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE service_principals SET status = 'disabled', disabled_at = ${now}, updated_at = ${now} WHERE id = ${id}`);
}

/** Disables every principal of a tenant; returns those that were active. */
export function disableTenantPrincipals(
  tx: Tx,
  tenant: Tenant,
  now: Date,
): Promise<Pick<PrincipalRecord, "id" | "org_id" | "partner_id" | "name">[]> {
  return tx.query(sql`
    UPDATE service_principals SET status = 'disabled', disabled_at = ${now}, updated_at = ${now}
    WHERE ${ofTenant(tenant)} AND status = 'active' RETURNING id, org_id, partner_id, name`);
}
