import { type Database, sql, type Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import type { ExportedChain } from "../rules/export-line.ts";
import type { Position, Range } from "../rules/range.ts";
import { matchingActions } from "./actions.ts";
import { type ChainRowRecord, chainRowColumns, chainRowOf } from "./chain-rows.ts";
import { boundsText, type LogFilter, looksAtRows, matchText, newestRows, Values } from "./conditions.ts";
import { readNewest, walkIndexes } from "./planned-read.ts";

export const mostExported = 10_000;
const walkedRows = 20_000;
const rowsPerRead = 100;

/** Which rows an export holds, newest first. They are never changed, so they can be read when the reader wants them. */
export type Selection = {
  chainIds: string[];
  seqs: number[];
  truncated: boolean;
  /** By chain, of the same snapshot. */
  chains: Map<string, SelectedChain>;
};
export type SelectedChain = ExportedChain & { baseSeq: number };

type KeyRow = { chain_id: string; seq: number; timestamp: Date; id: string; match?: boolean; place?: number };

/** The newest rows that match, found in one snapshot. Throws `cancelled` between two steps when the caller has left. */
export async function selectRows(db: Database, who: CallContext, range: Range, filter: LogFilter): Promise<Selection> {
  const actions = await matchingActions(db, who, range, filter);
  return db.tx(
    who,
    async (tx) => {
      await walkIndexes(tx);
      const found =
        actions !== null || !looksAtRows(filter)
          ? await indexedKeys(tx, range, filter, actions)
          : await walkedKeys(tx, who, range, filter);
      const kept = found.slice(0, mostExported);
      const selection = { chainIds: kept.map((k) => k.chain_id), seqs: kept.map((k) => k.seq) };
      return { ...selection, truncated: found.length > mostExported, chains: await chainsOf(tx, selection) };
    },
    { snapshot: true },
  );
}

const keyColumns = "l.chain_id, l.seq, l.timestamp, l.id";

function indexedKeys(tx: Tx, range: Range, filter: LogFilter, actions: readonly string[] | null): Promise<KeyRow[]> {
  const values = new Values();
  const bounds = boundsText(values, filter, null);
  const source = newestRows(values, {
    range,
    actions,
    bounds,
    columns: keyColumns,
    rows: values.add(mostExported + 1),
  });
  return tx.query<KeyRow>({
    text: `SELECT ${keyColumns} FROM ${source} ORDER BY l.timestamp DESC, l.id DESC`,
    values: values.list,
  });
}

/** Looks at each row, chunk by chunk: between two of them a caller who has left is noticed. */
async function walkedKeys(tx: Tx, who: CallContext, range: Range, filter: LogFilter): Promise<KeyRow[]> {
  const found: KeyRow[] = [];
  let position: Position | null = null;
  for (;;) {
    if (who.signal.aborted) throw new AppError("cancelled", "The request was cancelled");
    const wanted = mostExported + 1 - found.length;
    const values = new Values();
    const bounds = boundsText(values, filter, position);
    const columns = `${keyColumns}, ${matchText(values, filter)} AS match`;
    const rows = values.add(walkedRows);
    const source = newestRows(values, { range, actions: null, bounds, columns, rows });
    const chunk = await tx.query<KeyRow>({
      text: `SELECT * FROM (
          SELECT l.*, row_number() OVER (ORDER BY l.timestamp DESC, l.id DESC) AS place FROM ${source}
        ) w
        WHERE w.match OR w.place = ${values.add(walkedRows)}::bigint
        ORDER BY w.timestamp DESC, w.id DESC LIMIT ${values.add(wanted)}`,
      values: values.list,
    });
    for (const row of chunk) if (row.match) found.push(row);
    const boundary = chunk.find((row) => Number(row.place) === walkedRows);
    if (found.length > mostExported || !boundary) return found;
    position = { timestamp: boundary.timestamp, id: boundary.id, skip: 0 };
  }
}

type FactRow = {
  chain_id: string;
  seq: number;
  checksum: string | null;
  base_seq: number;
  checkpoint: string | null;
  receipts: string[];
};

/** Heads, newest checkpoints and receipts of the chains that rows are of. */
async function chainsOf(
  tx: Tx,
  { chainIds, seqs }: Pick<Selection, "chainIds" | "seqs">,
): Promise<Map<string, SelectedChain>> {
  const bySeq = new Map<string, Set<number>>();
  chainIds.forEach((chainId, n) => {
    const own = bySeq.get(chainId);
    if (own) own.add(seqs[n] as number);
    else bySeq.set(chainId, new Set([seqs[n] as number]));
  });
  const facts = await tx.query<FactRow>(sql`
    SELECT h.chain_id, h.seq, h.checksum, h.base_seq,
           (SELECT c.note FROM checkpoint c WHERE c.chain_id = h.chain_id ORDER BY c.seq DESC LIMIT 1) AS checkpoint,
           ARRAY(SELECT r.note FROM prune_receipts r WHERE r.chain_id = h.chain_id ORDER BY r.last_seq) AS receipts
    FROM chain_head h WHERE h.chain_id = ANY (${[...bySeq.keys()]}::uuid[])`);
  return new Map(
    facts.map(
      ({ chain_id: chainId, seq: headSeq, checksum: headChecksum, base_seq: baseSeq, checkpoint, receipts }) => {
        const from = suffixStart(bySeq.get(chainId) ?? new Set(), headSeq);
        const chain = { chainId, headSeq, headChecksum, from, checkpoint, receipts: from === null ? [] : receipts };
        return [chainId, { ...chain, baseSeq }];
      },
    ),
  );
}

/** Where the rows without a gap up to the head begin; null when the head's own row is not among them. */
function suffixStart(seqs: ReadonlySet<number>, headSeq: number): number | null {
  let from: number | null = null;
  for (let seq = headSeq; seqs.has(seq); seq--) from = seq;
  return from;
}

/**
 * The selected rows in order, a hundred at a time, each read when it is asked for: nobody waits on a connection for a slow reader.
 * Throws when a row was pruned meanwhile.
 */
export async function* selectedRows(db: Database, who: CallContext, selection: Selection): AsyncGenerator<ChainRow[]> {
  const { chainIds, seqs } = selection;
  for (let at = 0; at < seqs.length; at += rowsPerRead) {
    const wanted = seqs.slice(at, at + rowsPerRead);
    const rows = await readNewest<ChainRowRecord>(db, who, {
      text: `SELECT ${chainRowColumns}
        FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS k (chain_id, seq, n)
        CROSS JOIN LATERAL (SELECT * FROM audit_log l WHERE l.chain_id = k.chain_id AND l.seq = k.seq) l
        ORDER BY k.n`,
      values: [chainIds.slice(at, at + rowsPerRead), wanted],
    });
    if (rows.length !== wanted.length) throw new AppError("unavailable", "Rows were pruned while they were exported");
    yield rows.map(chainRowOf);
  }
}
