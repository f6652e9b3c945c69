import type { Target } from "../rules/targets.ts";

/** A row of audit_log as lists show it. */
export type LogRow = {
  id: string;
  chain_id: string;
  org_id: string | null;
  seq: number;
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
  targets: Target[] | null;
  checksum: string;
  prev_checksum: string | null;
};

const names = `id, chain_id, org_id, seq, timestamp, actor_type, actor_id, actor_email, actor_name, actor_role,
  actor_department, session_id, action, resource_type, resource_id, resource_name, details, ip_address, user_agent,
  result, error_message, targets, checksum, prev_checksum`.split(/,\s*/);

/** Columns of `alias`, as stored. */
export const storedColumns = (alias: string) => names.map((name) => `${alias}.${name}`).join(", ");

/** Columns of `alias` as shown: the earliest retained row of a chain links to nothing. */
export const shownColumns = (alias: string) =>
  names
    .map((name) =>
      name === "prev_checksum"
        ? `CASE WHEN ${alias}.seq = (SELECT h.base_seq + 1 FROM chain_head h WHERE h.chain_id = ${alias}.chain_id)
             THEN NULL ELSE ${alias}.prev_checksum END AS prev_checksum`
        : `${alias}.${name}`,
    )
    .join(", ");
