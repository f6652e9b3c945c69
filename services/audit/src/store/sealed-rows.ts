import { sql, type Tx } from "@muster/db";
import type { SealedEntry } from "../rules/seal.ts";
import { plainArray, textArray } from "./array-text.ts";

/** Inserts sealed rows in one statement. */
export async function insertSealed(tx: Tx, rows: readonly SealedEntry[]): Promise<void> {
  const plain = (pick: (row: SealedEntry) => string | number | null) => plainArray(rows.map(pick));
  const text = (pick: (row: SealedEntry) => string | null) => textArray(rows.map(pick));
  await tx.execute(sql`
    INSERT INTO audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name,
      actor_role, actor_department, session_id, action, resource_type, resource_id, resource_name, details, ip_address,
      user_agent, result, error_message, format, personal_salt, checksum, prev_checksum)
    SELECT * FROM unnest(
      ${plain(({ entry }) => entry.chainId)}::uuid[], ${plain((r) => r.seq)}::bigint[], ${plain(({ entry }) => entry.id)}::uuid[],
      ${plain(({ entry }) => entry.orgId)}::uuid[], ${plain(({ entry }) => entry.partnerId)}::uuid[],
      ${plain(({ entry }) => entry.timestamp.toISOString())}::timestamptz[], ${plain(({ entry }) => entry.actorType)}::text[],
      ${plain(({ entry }) => entry.actorId)}::uuid[], ${text(({ entry }) => entry.actorEmail)}::text[], ${text(({ entry }) => entry.actorName)}::text[],
      ${text(({ entry }) => entry.actorRole)}::text[], ${text(({ entry }) => entry.actorDepartment)}::text[],
      ${plain(({ entry }) => entry.sessionId)}::uuid[], ${text(({ entry }) => entry.action)}::text[],
      ${text(({ entry }) => entry.resourceType)}::text[], ${plain(({ entry }) => entry.resourceId)}::uuid[],
      ${text(({ entry }) => entry.resourceName)}::text[], ${text((r) => r.detailsJson)}::jsonb[],
      ${text(({ entry }) => entry.ipAddress)}::text[], ${text(({ entry }) => entry.userAgent)}::text[], ${plain(({ entry }) => entry.result)}::text[],
      ${text(({ entry }) => entry.errorMessage)}::text[], ${plain((r) => r.format)}::smallint[],
      ${plain((r) => `"\\\\x${r.personalSalt.toString("hex")}"`)}::bytea[], ${plain((r) => r.checksum)}::text[],
      ${plain((r) => r.prevChecksum)}::text[])`);
}
