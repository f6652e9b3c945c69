import { type Database, sql, type Who } from "@muster/db";
import type { ChainRow } from "../rules/chain-row.ts";
import type { Entry } from "../rules/entry.ts";
import type { KeptNote } from "../rules/verify.ts";
import { type LogRow, storedColumns } from "./log-row.ts";

/** A chain's head in the snapshot of the rows read with it. */
export type ChainHead = { seq: number; checksum: string | null; baseSeq: number; baseChecksum: string | null };

/** Columns of audit_log that make a ChainRow, for `chainRowOf`. */
export const chainRowColumns = `${storedColumns("l")}, l.partner_id, l.format, l.personal_salt, l.personal_digest`;

/** What a list shows of a row, and what else was sealed. */
export type ChainRowRecord = LogRow & {
  partner_id: string | null;
  format: number;
  personal_salt: Buffer;
  personal_digest: Buffer | null;
};

/** A row in the form of verification and export. */
export function chainRowOf(r: ChainRowRecord): ChainRow {
  return {
    entry: {
      id: r.id,
      chainId: r.chain_id,
      orgId: r.org_id,
      partnerId: r.partner_id,
      timestamp: r.timestamp,
      actorType: r.actor_type as Entry["actorType"],
      actorId: r.actor_id,
      actorEmail: r.actor_email,
      actorName: r.actor_name,
      actorRole: r.actor_role,
      actorDepartment: r.actor_department,
      sessionId: r.session_id,
      action: r.action,
      resourceType: r.resource_type,
      resourceId: r.resource_id,
      resourceName: r.resource_name,
      details: r.details,
      ipAddress: r.ip_address,
      userAgent: r.user_agent,
      result: r.result as Entry["result"],
      errorMessage: r.error_message,
      ...(r.targets === null ? {} : { targets: r.targets }),
    },
    seq: r.seq,
    format: r.format,
    personalSalt: r.personal_salt,
    personalDigest: r.personal_digest?.toString("hex") ?? null,
    checksum: r.checksum,
    prevChecksum: r.prev_checksum,
  };
}

type HeadColumns = {
  head_seq: number;
  head_checksum: string | null;
  base_seq: number;
  base_checksum: string | null;
};

/**
 * The next `limit` rows of a chain after `afterSeq` (null: from the very first), and its head, in one snapshot. A row
 * beyond 2^53 fails the query: no chain has one. Primary key (chain_id, seq).
 */
export async function readChain(
  db: Database,
  who: Who,
  chainId: string,
  afterSeq: number | null,
  limit: number,
): Promise<{ rows: ChainRow[]; head: ChainHead | null }> {
  const after = afterSeq === null ? "-9223372036854775808" : String(afterSeq);
  const records = await db.read<ChainRowRecord & Partial<HeadColumns>>(who, {
    // The head is repeated on every row; the left join returns one row with it when the page is empty.
    text: `WITH h AS (SELECT seq, checksum, base_seq, base_checksum FROM chain_head WHERE chain_id = $1)
      SELECT (SELECT seq FROM h) AS head_seq, (SELECT checksum FROM h) AS head_checksum,
             (SELECT base_seq FROM h) AS base_seq, (SELECT base_checksum FROM h) AS base_checksum, page.*
      FROM (SELECT) one
      LEFT JOIN LATERAL (
        SELECT ${chainRowColumns} FROM audit_log l WHERE l.chain_id = $1 AND l.seq > $2::bigint ORDER BY l.seq LIMIT $3
      ) page ON true`,
    values: [chainId, after, limit],
  });
  const [first] = records;
  const head =
    first?.head_seq == null
      ? null
      : {
          seq: first.head_seq,
          checksum: first.head_checksum ?? null,
          baseSeq: first.base_seq ?? 0,
          baseChecksum: first.base_checksum ?? null,
        };
  return { rows: records.filter((record) => record.checksum !== null).map(chainRowOf), head };
}

/** The receipts of a chain, oldest first, and the beginning that its head states, in one snapshot. */
export async function readBase(db: Database, who: Who, chainId: string) {
  const rows = await db.read<{
    base_seq: number;
    base_checksum: string | null;
    seq: number | null;
    note: string | null;
  }>(
    who,
    sql`SELECT coalesce(h.base_seq, 0)::bigint AS base_seq, h.base_checksum, r.last_seq AS seq, r.note
        FROM (SELECT) one
        LEFT JOIN chain_head h ON h.chain_id = ${chainId}
        LEFT JOIN prune_receipts r ON r.chain_id = ${chainId}
        ORDER BY r.last_seq`,
  );
  const receipts: KeptNote[] = rows.flatMap(({ seq, note }) => (note === null ? [] : [{ seq, note }]));
  return { receipts, base: { seq: rows[0]?.base_seq ?? 0, checksum: rows[0]?.base_checksum ?? null } };
}

/** Checkpoints of rows after `afterSeq`, up to and with `toSeq` (null: all), by seq. */
export async function readCheckpoints(
  db: Database,
  who: Who,
  chainId: string,
  afterSeq: number,
  limit: number,
): Promise<KeptNote[]> {
  return db.read<{ seq: number; note: string }>(
    who,
    sql`SELECT seq, note FROM checkpoint WHERE chain_id = ${chainId} AND seq > ${afterSeq} ORDER BY seq LIMIT ${limit}`,
  );
}
