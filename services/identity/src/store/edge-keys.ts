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

/** The keys with these digests, whatever their status, in their order; called before authentication. */
export async function findKeysByDigest(
  db: Database,
  digests: readonly Uint8Array[],
): Promise<(EdgeKeyRow | undefined)[]> {
  const rows = await db.read<EdgeKeyRow & { at: number }>(
    { caller: null },
    sql`SELECT wanted.at, k.id, k.org_id, k.partner_id, k.name, k.key_prefix, k.scopes, k.allowed_ips, k.rate_limit, k.status,
               k.expires_at, k.principal_id, k.version, k.generation, k.until, k.is_over, k.partner_status, k.org_status
        FROM unnest(${digests.map((digest) => Buffer.from(digest))}::bytea[]) WITH ORDINALITY AS wanted (digest, at)
        CROSS JOIN LATERAL find_api_key(wanted.digest) AS k`,
  );
  const found = new Map(rows.map((row) => [row.at - 1, row]));
  return digests.map((_, at) => found.get(at));
}

/** Stores that a key has expired (docs/behaviour.md#api-keys). */
export async function markExpired(db: Database, id: string): Promise<void> {
  await db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      UPDATE api_keys SET status = 'expired' WHERE id = ${id} AND status = 'active' AND expires_at <= clock_timestamp()`),
  );
}
