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
      ${column(({ entry }) => entry.chainId)}::uuid[], ${column((r) => r.seq)}::bigint[], ${column(({ entry }) => entry.id)}::uuid[],
      ${column(({ entry }) => entry.orgId)}::uuid[], ${column(({ entry }) => entry.partnerId)}::uuid[],
      ${column(({ entry }) => entry.timestamp.toISOString())}::timestamptz[], ${column(({ entry }) => entry.actorType)}::text[],
      ${column(({ entry }) => entry.actorId)}::uuid[], ${column(({ entry }) => entry.actorEmail)}::text[], ${column(({ entry }) => entry.actorName)}::text[],
      ${column(({ entry }) => entry.actorRole)}::text[], ${column(({ entry }) => entry.actorDepartment)}::text[],
      ${column(({ entry }) => entry.sessionId)}::uuid[], ${column(({ entry }) => entry.action)}::text[],
      ${column(({ entry }) => entry.resourceType)}::text[], ${column(({ entry }) => entry.resourceId)}::uuid[],
      ${column(({ entry }) => entry.resourceName)}::text[], ${column((r) => r.detailsJson)}::jsonb[],
      ${column(({ entry }) => entry.ipAddress)}::text[], ${column(({ entry }) => entry.userAgent)}::text[], ${column(({ entry }) => entry.result)}::text[],
      ${column(({ entry }) => entry.errorMessage)}::text[], ${column((r) => r.format)}::smallint[],
      ${column((r) => r.personalSalt)}::bytea[], ${column((r) => r.checksum)}::text[],
      ${column((r) => r.prevChecksum)}::text[])`);
}
