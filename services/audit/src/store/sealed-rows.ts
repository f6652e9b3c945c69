import { sql, type Tx } from "@muster/db";
import type { SealedEntry } from "../rules/seal.ts";
import { arrayOf, quoted } from "./array-text.ts";

// Separated by a character that no JSON text contains, so that no value needs escaping.
const betweenDetails = "\u001f";

type Cell = string | number | null;

/** A row's cells in the order of the columns of the INSERT, as elements of PostgreSQL's arrays; details apart. */
function cellsOf({ entry: e, time, seq, format, personalSalt, checksum, prevChecksum }: SealedEntry): Cell[] {
  return [
    e.chainId,
    seq,
    e.id,
    e.orgId,
    e.partnerId,
    time,
    e.actorType,
    e.actorId,
    quoted(e.actorEmail),
    quoted(e.actorName),
    quoted(e.actorRole),
    quoted(e.actorDepartment),
    e.sessionId,
    quoted(e.action),
    quoted(e.resourceType),
    e.resourceId,
    quoted(e.resourceName),
    quoted(e.ipAddress),
    quoted(e.userAgent),
    e.result,
    quoted(e.errorMessage),
    format,
    `"\\\\x${personalSalt}"`,
    checksum,
    prevChecksum,
  ];
}

/** Inserts sealed rows in one statement. */
export async function insertSealed(tx: Tx, rows: readonly SealedEntry[]): Promise<void> {
  // Row by row: a function for each cell costs more than the cell.
  const lines = rows.map(cellsOf);
  let column = 0;
  const next = () => arrayOf(lines, column++);
  const hasTargets = rows.some(({ entry }) => entry.targets !== undefined);
  const [targetsColumn, targets] = hasTargets ? [sql`, targets`, sql`, ${targetTexts(rows)}::jsonb[]`] : [sql``, sql``];
  await tx.execute(sql`
    INSERT INTO audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name,
      actor_role, actor_department, session_id, action, resource_type, resource_id, resource_name, ip_address, user_agent,
      result, error_message, format, personal_salt, checksum, prev_checksum, details${targetsColumn})
    SELECT * FROM unnest(
      ${next()}::uuid[], ${next()}::bigint[], ${next()}::uuid[], ${next()}::uuid[], ${next()}::uuid[], ${next()}::timestamptz[],
      ${next()}::text[], ${next()}::uuid[], ${next()}::text[], ${next()}::text[], ${next()}::text[], ${next()}::text[],
      ${next()}::uuid[], ${next()}::text[], ${next()}::text[], ${next()}::uuid[], ${next()}::text[], ${next()}::text[],
      ${next()}::text[], ${next()}::text[], ${next()}::text[], ${next()}::smallint[], ${next()}::bytea[], ${next()}::text[],
      ${next()}::text[], string_to_array(${rows.map((row) => row.detailsJson).join(betweenDetails)}, ${betweenDetails})::jsonb[]${targets})`);
}

const targetTexts = (rows: readonly SealedEntry[]): (string | null)[] =>
  rows.map(({ entry: { targets } }) => (targets === undefined ? null : JSON.stringify(targets)));
