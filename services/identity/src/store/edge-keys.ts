import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

/** A key as gateways hold it. */
export type EdgeKeyRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  key_prefix: string;
  scopes: string[];
  allowed_ips: string[];
  rate_limit: number;
  status: string;
  expires_at: Date | null;
  principal_id: string | null;
  version: number;
  generation: number;
  /** When the digest stops counting: it is the one before the last rotation. */
  until: Date | null;
  /** `expires_at` has passed, by the database's clock. */
  is_over: boolean;
  partner_status: string;
  org_status: string;
};

/** The key with this digest, whatever its status; nobody is known yet. */
export async function findKeyByDigest(db: Database, digest: Uint8Array): Promise<EdgeKeyRow | null> {
  const [row] = await db.read<EdgeKeyRow>(
    { caller: null },
    sql`SELECT id, org_id, partner_id, name, key_prefix, scopes, allowed_ips, rate_limit, status, expires_at, principal_id,
               version, generation, until, is_over, partner_status, org_status
        FROM find_api_key(${Buffer.from(digest)})`,
  );
  return row ?? null;
}

/** Stores that a key has expired (interface, "API key authentication order", 5). */
export async function markExpired(db: Database, id: string): Promise<void> {
  await db.tx({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      UPDATE api_keys SET status = 'expired' WHERE id = ${id} AND status = 'active' AND expires_at <= clock_timestamp()`),
  );
}
