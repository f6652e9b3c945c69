import { type Database, sql, type Tx, type Who } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import { type ExportStart, exportKind, keptDays } from "../rules/export-job.ts";
import type { PartFacts } from "../rules/export-manifest.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import { type ChainRowRecord, chainRowColumns, chainRowOf } from "./chain-rows.ts";
import { boundsText, matchText, Values } from "./conditions.ts";

const who = { caller: systemCaller("audit") };

/** The head of a chain and where its kept rows begin; zeros for a chain without rows. */
export async function startOf(db: Database, chainId: string): Promise<ExportStart> {
  const [head] = await db.read<ExportStart>(
    who,
    sql`SELECT seq AS "headSeq", checksum AS "headChecksum", base_seq AS "baseSeq"
        FROM chain_head WHERE chain_id = ${chainId}`,
  );
  return head ?? { headSeq: 0, headChecksum: null, baseSeq: 0 };
}

/**
 * Rows of a chain after `afterSeq` up to and with `toSeq` that match, in its order (primary key). `isWhole` is false
 * when some of that range have been pruned.
 */
export async function matchingRows(
  db: Database,
  range: { chainId: string; afterSeq: number; toSeq: number },
  filter: LogFilter,
): Promise<{ rows: ChainRow[]; isWhole: boolean }> {
  const { chainId, afterSeq, toSeq } = range;
  const values = new Values();
  const own = `l.chain_id = ${values.add(chainId)}::uuid AND l.seq > ${values.add(afterSeq)}::bigint
    AND l.seq <= ${values.add(toSeq)}::bigint`;
  const matching = `${boundsText(values, filter, null)} AND ${matchText(values, filter)}`;
  const records = await db.read<ChainRowRecord>(who, {
    text: `SELECT ${chainRowColumns} FROM audit_log l WHERE ${own} AND ${matching} ORDER BY l.seq`,
    values: values.list,
  });
  // Read afterwards: the base moves in the transaction that prunes.
  const { baseSeq } = await startOf(db, chainId);
  return { rows: records.map(chainRowOf), isWhole: baseSeq <= afterSeq };
}

/** Notes over rows of the chain up to `headSeq`: the newest checkpoints, oldest first, and all receipts. */
export async function notesOf(db: Database, chainId: string, headSeq: number, most: number) {
  const checkpoints = await db.read<{ note: string }>(
    who,
    sql`SELECT note FROM checkpoint WHERE chain_id = ${chainId} AND seq <= ${headSeq} ORDER BY seq DESC LIMIT ${most}`,
  );
  const receipts = await db.read<{ note: string }>(
    who,
    sql`SELECT note FROM prune_receipts WHERE chain_id = ${chainId} ORDER BY last_seq`,
  );
  return { checkpoints: checkpoints.map(({ note }) => note).reverse(), receipts: receipts.map(({ note }) => note) };
}

export type StoredFile = Omit<PartFacts, "number"> & { content: Buffer };

/** Stores a part, or the manifest as number 0. */
export async function storePart(tx: Tx, exportId: string, number: number, file: StoredFile): Promise<void> {
  const { rows, firstSeq, lastSeq, bytes, sha256, content } = file;
  await tx.execute(sql`
    INSERT INTO export_part (export_id, number, rows, first_seq, last_seq, bytes, sha256, content)
    VALUES (${exportId}, ${number}, ${rows}, ${firstSeq}, ${lastSeq}, ${bytes}, ${sha256}, ${content})`);
}

/** The parts of an export in order. */
export function partsOf(db: Database, exportId: string): Promise<PartFacts[]> {
  return db.read<PartFacts>(
    who,
    sql`SELECT number, rows, first_seq AS "firstSeq", last_seq AS "lastSeq", bytes, sha256
        FROM export_part WHERE export_id = ${exportId} AND number > 0 ORDER BY number`,
  );
}

/** The compressed bytes of a part; null when it is not stored. */
export async function partContent(db: Database, asker: Who, exportId: string, number: number): Promise<Buffer | null> {
  const { deadlineMs = null } = asker;
  const [row] = await db.read<{ content: Buffer }>(
    { ...who, deadlineMs },
    sql`SELECT content FROM export_part WHERE export_id = ${exportId} AND number = ${number}`,
  );
  return row?.content ?? null;
}

/** How many exports of a chain are open or kept. */
export async function countExports(db: Database, chainId: string): Promise<number> {
  const [row] = await db.read<{ total: number }>(
    who,
    sql`SELECT count(*)::int AS total FROM job
        WHERE kind = 'audit.export' AND (input->>'chainId')::uuid = ${chainId}
          AND (state IN ('queued', 'running')
               OR (state = 'done' AND finished_at > now() - ${keptDays} * interval '1 day'))`,
  );
  return row?.total ?? 0;
}

/** Removes an export and its parts. */
export async function removeExport(tx: Tx, exportId: string): Promise<boolean> {
  const removed = await tx.execute(sql`DELETE FROM job WHERE id = ${exportId} AND kind = ${exportKind}`);
  await tx.execute(sql`DELETE FROM export_part WHERE export_id = ${exportId}`);
  return removed > 0;
}

const chunkParts = 50;

/** Removes the parts of exports that have expired, failed or gone; resolves to their number. */
export async function removeExpiredParts(db: Database): Promise<number> {
  for (let removed = 0; ; ) {
    const parts = await db.tx(who, (tx) =>
      tx.execute(sql`
        DELETE FROM export_part WHERE (export_id, number) IN (
          SELECT p.export_id, p.number FROM export_part p LEFT JOIN job j ON j.id = p.export_id
          WHERE j.id IS NULL OR j.state = 'failed'
             OR (j.state = 'done' AND j.finished_at <= now() - ${keptDays} * interval '1 day')
          LIMIT ${chunkParts})`),
    );
    removed += parts;
    if (parts < chunkParts) return removed;
  }
}
