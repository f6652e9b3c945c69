import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { DirectoryRow } from "../../rules/directory/directory.ts";

const system = { caller: systemCaller("identity") };

/** A directory as it calls by one of its tokens. */
export type ClientRow = Omit<DirectoryRow, "tokens" | "last_cycle" | "roles_pending"> & {
  token_id: string;
  /** The token has ended: its grace period after a rotation is over. */
  is_ended: boolean;
  /** Of its tenant: "deleted", or "unknown" to the copy; null for the organization of a partner's own directory. */
  partner_status: string;
  org_status: string | null;
};

const clientOf = (digest: Uint8Array) => sql`
  SELECT t.id, t.partner_id, t.org_id, t.name, t.preset, t.status, t.provider_id, t.default_role_id, t.default_role_by,
         t.created_by, t.created_at, t.updated_at, k.id AS token_id,
         coalesce(k.expires_at <= now(), false) AS is_ended,
         coalesce((SELECT CASE WHEN n.deleted THEN 'deleted' ELSE n.status END FROM tenant n
                   WHERE n.kind = 'partner' AND n.id = t.partner_id), 'unknown') AS partner_status,
         CASE WHEN t.org_id IS NOT NULL THEN coalesce(
           (SELECT CASE WHEN n.deleted THEN 'deleted' ELSE n.status END FROM tenant n
            WHERE n.kind = 'organization' AND n.id = t.org_id), 'unknown') END AS org_status
  FROM directory_tokens k JOIN directories t ON t.id = k.directory_id
  WHERE k.digest = ${Buffer.from(digest)}`;

export async function findClient(db: Database, digest: Uint8Array): Promise<ClientRow | null> {
  const [row] = await db.read<ClientRow>(system, clientOf(digest));
  return row ?? null;
}

export async function readClient(tx: Tx, digest: Uint8Array): Promise<ClientRow | null> {
  const [row] = await tx.query<ClientRow>(clientOf(digest));
  return row ?? null;
}
