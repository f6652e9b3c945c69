import { type Database, type OutboxMessage, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ArchiveReference } from "../rules/archive-chunk.ts";
import { type ChainRowRecord, chainRowColumns } from "./chain-rows.ts";

const who = { caller: systemCaller("audit-retention") };
/** Deleting a chunk takes longer than a request may. */
const pruneMs = 60_000;

/** A chain whose earliest row is past its window. */
export type DueChain = {
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  baseSeq: number;
  baseChecksum: string | null;
  retentionDays: number;
  archives: boolean;
};

/** Rows first..last of a chain, all past its window. */
export type DuePiece = { firstSeq: number; lastSeq: number; lastChecksum: string };

type ChainRow = {
  chain_id: string;
  org_id: string | null;
  partner_id: string | null;
  base_seq: number;
  base_checksum: string | null;
  days: number;
  archives: boolean;
  due: boolean;
};

/** Days that the rows of chain h are kept, by policy p and the database's clock. */
const daysText = `CASE WHEN p.pending_from <= now() THEN p.pending_retention_days ELSE coalesce(p.retention_days, $1) END`;

/** Up to `count` chains after `after` (null: from the first), and those of them that are due. */
export async function chainsFrom(
  db: Database,
  { after, count, defaultDays }: { after: string | null; count: number; defaultDays: number },
): Promise<{ last: string | null; ids: string[]; due: DueChain[] }> {
  const rows = await db.read<ChainRow>(who, {
    text: `SELECT h.chain_id, h.org_id, h.partner_id, h.base_seq, h.base_checksum, d.days,
        coalesce(p.archive_to_s3, false) AS archives,
        coalesce((SELECT l.timestamp < now() - d.days * interval '24 hours' FROM audit_log l
                  WHERE l.chain_id = h.chain_id AND l.seq = h.base_seq + 1), false) AS due
      FROM (SELECT * FROM chain_head WHERE $2::uuid IS NULL OR chain_id > $2::uuid ORDER BY chain_id LIMIT $3) h
      LEFT JOIN retention_policy p ON p.org_id = h.org_id
      CROSS JOIN LATERAL (SELECT ${daysText} AS days) d
      ORDER BY h.chain_id`,
    values: [defaultDays, after, count],
  });
  const due = rows
    .filter((row) => row.due)
    .map((row) => ({
      chainId: row.chain_id,
      orgId: row.org_id,
      partnerId: row.partner_id,
      baseSeq: row.base_seq,
      baseChecksum: row.base_checksum,
      retentionDays: row.days,
      archives: row.archives,
    }));
  return {
    last: rows.length === count ? (rows.at(-1)?.chain_id ?? null) : null,
    ids: rows.map((r) => r.chain_id),
    due,
  };
}

/** The rows after the base up to the first one inside the window, at most `most`; null when there is none. */
export async function duePiece(db: Database, chain: DueChain, most: number): Promise<DuePiece | null> {
  const rows = await db.read<{ seq: number; checksum: string }>(
    { ...who, deadlineMs: performance.now() + pruneMs },
    sql`
      WITH next AS MATERIALIZED (
        SELECT l.seq, l.checksum, l.timestamp < now() - ${chain.retentionDays}::int * interval '24 hours' AS due
        FROM audit_log l WHERE l.chain_id = ${chain.chainId}::uuid AND l.seq > ${chain.baseSeq}::bigint
        ORDER BY l.seq LIMIT ${most}
      )
      SELECT seq, checksum FROM next
      WHERE due AND seq < coalesce((SELECT min(seq) FROM next WHERE NOT due), 9223372036854775807)
      ORDER BY seq DESC LIMIT 1`,
  );
  const [last] = rows;
  return last ? { firstSeq: chain.baseSeq + 1, lastSeq: last.seq, lastChecksum: last.checksum } : null;
}

/** Rows of a piece from `from` on, in order. */
export function rowsOfPiece(
  db: Database,
  chainId: string,
  { from, lastSeq, count }: { from: number; lastSeq: number; count: number },
): Promise<ChainRowRecord[]> {
  return db.read<ChainRowRecord>(
    { ...who, deadlineMs: performance.now() + pruneMs },
    {
      text: `SELECT ${chainRowColumns} FROM audit_log l
        WHERE l.chain_id = $1::uuid AND l.seq BETWEEN $2 AND $3 ORDER BY l.seq LIMIT $4`,
      values: [chainId, from, lastSeq, count],
    },
  );
}

export type Prune = {
  chain: DueChain;
  piece: DuePiece;
  prunedAt: Date;
  note: string;
  archive: ArchiveReference | null;
  /** The prune's audit row. */
  event: OutboxMessage;
};

/**
 * Receipt, base, rows, and the event: one transaction. False, and nothing changed, when another process moved the base,
 * when the policy no longer permits the removal of all the rows, or when it requires an archive that was not made.
 */
export async function prune(db: Database, { chain, piece, prunedAt, note, archive, event }: Prune): Promise<boolean> {
  const { chainId, orgId, partnerId } = chain;
  const rows = piece.lastSeq - piece.firstSeq + 1;
  return db.tx({ ...who, deadlineMs: performance.now() + pruneMs }, async (tx) => {
    if (!(await stillDue(tx, chain, piece, archive !== null))) return false;
    await tx.execute(sql`
      INSERT INTO prune_receipts (chain_id, org_id, partner_id, first_seq, last_seq, last_checksum, pruned_at, note, archive)
      VALUES (${chainId}, ${orgId}, ${partnerId}, ${piece.firstSeq}, ${piece.lastSeq}, ${piece.lastChecksum}, ${prunedAt},
              ${note}, ${archive === null ? null : JSON.stringify(archive)}::jsonb)`);
    await tx.execute(sql`
      UPDATE chain_head SET base_seq = ${piece.lastSeq}, base_checksum = ${piece.lastChecksum}, updated_at = now()
      WHERE chain_id = ${chainId}`);
    const deleted = await tx.execute(sql`
      DELETE FROM audit_log WHERE chain_id = ${chainId} AND seq BETWEEN ${piece.firstSeq} AND ${piece.lastSeq}`);
    if (deleted !== rows) throw new Error(`${deleted} of ${rows} rows of chain ${chainId} were there to be pruned`);
    tx.emit(event);
    return true;
  });
}

async function stillDue(tx: Tx, chain: DueChain, piece: DuePiece, isArchived: boolean): Promise<boolean> {
  const [head] = await tx.query<{ base_seq: number }>(sql`
    SELECT base_seq FROM chain_head WHERE chain_id = ${chain.chainId} FOR UPDATE`);
  if (head?.base_seq !== chain.baseSeq) return false;
  const [policy] = await tx.query<{ days: number | null; archives: boolean }>(sql`
    SELECT CASE WHEN p.pending_from <= now() THEN p.pending_retention_days ELSE p.retention_days END AS days,
           p.archive_to_s3 AS archives
    FROM retention_policy p WHERE p.org_id = ${chain.orgId}`);
  if (policy?.archives && !isArchived) return false;
  const days = policy?.days ?? chain.retentionDays;
  const [young] = await tx.query<{ rows: number }>(sql`
    SELECT count(*) AS rows FROM audit_log l
    WHERE l.chain_id = ${chain.chainId} AND l.seq BETWEEN ${piece.firstSeq} AND ${piece.lastSeq}
      AND l.timestamp >= now() - ${days}::int * interval '24 hours'`);
  return Number(young?.rows) === 0;
}

/** Notes that these chains were looked through to their ends. */
export async function noteCleanup(db: Database, chainIds: readonly string[]): Promise<void> {
  await db.tx(
    who,
    (tx) =>
      tx.execute(sql`
        INSERT INTO chain_cleanup (chain_id, org_id, partner_id, last_cleanup_at)
        SELECT chain_id, org_id, partner_id, now() FROM chain_head WHERE chain_id = ANY (${[...chainIds]}::uuid[])
        ORDER BY chain_id
        ON CONFLICT (chain_id) DO UPDATE SET last_cleanup_at = excluded.last_cleanup_at`),
    { retry: true },
  );
}

/** The database's clock. */
export async function databaseNow(db: Database): Promise<Date> {
  const [row] = await db.read<{ now: Date }>(who, sql`SELECT date_trunc('milliseconds', now()) AS now`);
  if (!row) throw new Error("the database did not return its time");
  return row.now;
}
