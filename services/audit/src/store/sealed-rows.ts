import { sql, type Tx } from "@muster/db";
import type { SealedEntry } from "../rules/seal.ts";

/** Inserts sealed rows in one statement. */
export async function insertSealed(tx: Tx, rows: readonly SealedEntry[]): Promise<void> {
  const column = <T>(pick: (row: SealedEntry) => T) => rows.map(pick);
  await tx.execute(sql`
    INSERT INTO audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name,
      actor_role, actor_department, session_id, action, resource_type, resource_id, resource_name, details, ip_address,
      user_agent, result, error_message, format, personal_salt, checksum, prev_checksum)
    SELECT * FROM unnest(
      ${column((r) => r.chainId)}::uuid[], ${column((r) => r.seq)}::bigint[], ${column((r) => r.id)}::uuid[],
      ${column((r) => r.orgId)}::uuid[], ${column((r) => r.partnerId)}::uuid[],
      ${column((r) => r.timestamp.toISOString())}::timestamptz[], ${column((r) => r.actorType)}::text[],
      ${column((r) => r.actorId)}::uuid[], ${column((r) => r.actorEmail)}::text[], ${column((r) => r.actorName)}::text[],
      ${column((r) => r.actorRole)}::text[], ${column((r) => r.actorDepartment)}::text[],
      ${column((r) => r.sessionId)}::uuid[], ${column((r) => r.action)}::text[],
      ${column((r) => r.resourceType)}::text[], ${column((r) => r.resourceId)}::uuid[],
      ${column((r) => r.resourceName)}::text[], ${column((r) => JSON.stringify(r.details))}::jsonb[],
      ${column((r) => r.ipAddress)}::text[], ${column((r) => r.userAgent)}::text[], ${column((r) => r.result)}::text[],
      ${column((r) => r.errorMessage)}::text[], ${column((r) => r.format)}::smallint[],
      ${column((r) => r.personalSalt)}::bytea[], ${column((r) => r.checksum)}::text[],
      ${column((r) => r.prevChecksum)}::text[])`);
}
