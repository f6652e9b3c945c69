import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { ofTenant, type Tenant } from "./api-keys.ts";

export type DeviceAuthorizationRow = {
  id: string;
  client_name: string;
  ip_address: string | null;
  interval_seconds: number;
  polled_at: Date | null;
  status: "pending" | "approved" | "denied";
  user_id: string | null;
  session_id: string | null;
  mfa_at: Date | null;
  created_at: Date;
  expires_at: Date;
};

export type NewDeviceAuthorization = {
  id: string;
  deviceHash: Buffer;
  userHash: Buffer;
  clientName: string;
  ipAddress: string | null;
  intervalSeconds: number;
  now: Date;
  expiresAt: Date;
};

const columns = sql`id, client_name, ip_address, interval_seconds, polled_at, status, user_id, session_id, mfa_at,
  created_at, expires_at`;

/** Stores a pending authorization; false when its user code is in use. */
export async function insertDeviceAuthorization(tx: Tx, a: NewDeviceAuthorization): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO device_authorizations (id, device_hash, user_hash, client_name, ip_address, interval_seconds, created_at,
                                       expires_at)
    VALUES (${a.id}, ${a.deviceHash}, ${a.userHash}, ${a.clientName}, ${a.ipAddress}, ${a.intervalSeconds}, ${a.now},
            ${a.expiresAt})
    ON CONFLICT (user_hash) DO NOTHING`);
  return inserted === 1;
}

/** Who has approved the authorization of a device code, and in which session; null for one that nobody has. */
export async function findApproval(tx: Tx, hash: Buffer): Promise<{ user_id: string; session_id: string } | null> {
  const [row] = await tx.query<{ user_id: string; session_id: string }>(sql`
    SELECT user_id, session_id FROM device_authorizations WHERE device_hash = ${hash} AND status = 'approved'`);
  return row ?? null;
}

/** The authorization of a device code, locked until the transaction ends; null when there is none. */
export async function lockByDeviceCode(tx: Tx, hash: Buffer): Promise<DeviceAuthorizationRow | null> {
  const [row] = await tx.query<DeviceAuthorizationRow>(sql`
    SELECT ${columns} FROM device_authorizations WHERE device_hash = ${hash} FOR UPDATE`);
  return row ?? null;
}

/** The authorization of a user code that still waits, locked until the transaction ends; null when there is none. */
export async function lockByUserCode(
  tx: Tx,
  hashes: readonly Buffer[],
  now: Date,
): Promise<DeviceAuthorizationRow | null> {
  const [row] = await tx.query<DeviceAuthorizationRow>(sql`
    SELECT ${columns} FROM device_authorizations
    WHERE user_hash = ANY (${[...hashes]}::bytea[]) AND status = 'pending' AND expires_at > ${now} FOR UPDATE`);
  return row ?? null;
}

/** Notes a request of the client and the interval that it has to keep from now on. */
export async function recordPoll(tx: Tx, id: string, intervalSeconds: number, now: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE device_authorizations SET polled_at = ${now}, interval_seconds = ${intervalSeconds} WHERE id = ${id}`);
}

export type Approver = {
  user_id: string;
  partner_id: string | null;
  org_id: string | null;
  sessionId: string;
  mfaAt: Date | null;
};

export async function approve(tx: Tx, id: string, by: Approver): Promise<void> {
  await tx.execute(sql`
    UPDATE device_authorizations
    SET status = 'approved', user_id = ${by.user_id}, partner_id = ${by.partner_id}, org_id = ${by.org_id},
        session_id = ${by.sessionId}, mfa_at = ${by.mfaAt}
    WHERE id = ${id}`);
}

export async function deny(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`UPDATE device_authorizations SET status = 'denied' WHERE id = ${id}`);
}

export async function deleteDeviceAuthorization(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM device_authorizations WHERE id = ${id}`);
}

/** Ends what a user has approved in these sessions and no client has completed; returns their number. */
export function endApproved(tx: Tx, userId: string, sessions: { only: string } | { except: string | null }) {
  const wanted =
    "only" in sessions ? sql`session_id = ${sessions.only}` : sql`session_id IS DISTINCT FROM ${sessions.except}::uuid`;
  return tx.execute(sql`
    UPDATE device_authorizations SET status = 'denied', session_id = NULL
    WHERE user_id = ${userId} AND ${wanted} AND status = 'approved'`);
}

/** Ends what a tenant's users have approved and no client has completed. Index device_authorizations_tenant. */
export function endTenantApproved(tx: Tx, tenant: Tenant): Promise<number> {
  return tx.execute(sql`
    UPDATE device_authorizations SET status = 'denied', session_id = NULL
    WHERE ${ofTenant(tenant)} AND status = 'approved'`);
}

/** Removes up to `limit` that expired before then; returns their number. Index device_authorizations_expiry. */
export function removeExpiredDeviceAuthorizations(db: Database, limit: number, before: Date): Promise<number> {
  return db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      DELETE FROM device_authorizations a USING (
        SELECT id FROM device_authorizations WHERE expires_at < ${before} LIMIT ${limit} FOR UPDATE SKIP LOCKED) ended
      WHERE a.id = ended.id`),
  );
}
