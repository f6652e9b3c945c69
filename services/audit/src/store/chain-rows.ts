import type { ChainRow } from "../rules/chain-row.ts";
import type { Entry } from "../rules/entry.ts";

/** A row of audit_log, everything that is hashed included. */
export type StoredRow = {
  chain_id: string;
  seq: number;
  id: string;
  org_id: string | null;
  partner_id: string | null;
  timestamp: Date;
  actor_type: string;
  actor_id: string;
  actor_email: string | null;
  actor_name: string | null;
  actor_role: string | null;
  actor_department: string | null;
  session_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  resource_name: string | null;
  details: Record<string, unknown>;
  ip_address: string | null;
  user_agent: string | null;
  result: string;
  error_message: string | null;
  format: number;
  personal_salt: Buffer;
  checksum: string;
  prev_checksum: string | null;
};

/** The columns of a StoredRow, of table `alias`. */
export const chainColumns = (alias: string): string =>
  `chain_id seq id org_id partner_id timestamp actor_type actor_id actor_email actor_name actor_role actor_department
   session_id action resource_type resource_id resource_name details ip_address user_agent result error_message format
   personal_salt checksum prev_checksum`
    .split(/\s+/)
    .map((name) => `${alias}.${name}`)
    .join(", ");

/** A stored row as exports, archives and verification take it. */
export function chainRowOf(row: StoredRow): ChainRow {
  return {
    entry: {
      id: row.id,
      chainId: row.chain_id,
      orgId: row.org_id,
      partnerId: row.partner_id,
      timestamp: row.timestamp,
      actorType: row.actor_type as Entry["actorType"],
      actorId: row.actor_id,
      actorEmail: row.actor_email,
      actorName: row.actor_name,
      actorRole: row.actor_role,
      actorDepartment: row.actor_department,
      sessionId: row.session_id,
      action: row.action,
      resourceType: row.resource_type,
      resourceId: row.resource_id,
      resourceName: row.resource_name,
      details: row.details,
      ipAddress: row.ip_address,
      userAgent: row.user_agent,
      result: row.result as Entry["result"],
      errorMessage: row.error_message,
    },
    seq: row.seq,
    format: row.format,
    personalSalt: row.personal_salt,
    personalDigest: null,
    checksum: row.checksum,
    prevChecksum: row.prev_checksum,
  };
}
