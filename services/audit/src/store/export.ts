import { type Database, sql, type Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import type { ExportedChain } from "../rules/export-line.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import type { Position, Range } from "../rules/range.ts";
import { matchingActions } from "./actions.ts";
import { type ChainRowRecord, chainRowColumns, chainRowOf } from "./chain-rows.ts";
import { boundsText, matchText, newestRows, rangeText, scansRows, Values } from "./conditions.ts";
import { readNewest, walkIndexes } from "./planned-read.ts";

export const mostExported = 10_000;
const walkedRows = 20_000;
const rowsPerRead = 100;
/** Rows of a chain that are compared with those chosen. */
const mostCompared = 20_000;

/** Which rows an export holds, newest first. They are never changed, so they can be read when the reader wants them. */
export type Selection = {
  chainIds: string[];
  seqs: number[];
  truncated: boolean;
  /** By chain, of the rows' snapshot. */
  chains: Map<string, SelectedChain>;
};
export type SelectedChain = Omit<ExportedChain, "copies"> & { baseSeq: number };

type KeyRow = { chain_id: string; seq: number; timestamp: Date; id: string; match?: boolean; position?: number };

/**
 * The newest rows that match, found in one snapshot. Throws `cancelled` between two steps when the caller has
 * disconnected.
 */
export async function selectRows(db: Database, who: CallContext, range: Range, filter: LogFilter): Promise<Selection> {
  const actions = await matchingActions(db, who, range, filter);
  return db.tx(
    who,
    async (tx) => {
      await walkIndexes(tx);
      const found =
        actions !== null || !scansRows(filter)
          ? await indexedKeys(tx, range, filter, actions)
          : await walkedKeys(tx, who, range, filter);
      const kept = found.slice(0, mostExported);
      const selection = { chainIds: kept.map((k) => k.chain_id), seqs: kept.map((k) => k.seq) };
      const truncated = found.length > mostExported;
      const isFiltered = scansRows(filter) || filter.from !== null || filter.to !== null;
      const extent = isFiltered ? "selection" : truncated ? "newest" : "whole";
      return { ...selection, truncated, chains: await chainsOf(tx, selection, range, extent) };
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

/** Reads all rows, chunk by chunk: a caller's disconnection is noticed between two chunks. */
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
          SELECT l.*, row_number() OVER (ORDER BY l.timestamp DESC, l.id DESC) AS position FROM ${source}
        ) w
        WHERE w.match OR w.position = ${values.add(walkedRows)}::bigint
        ORDER BY w.timestamp DESC, w.id DESC LIMIT ${values.add(wanted)}`,
      values: values.list,
    });
    for (const row of chunk) if (row.match) found.push(row);
    const boundary = chunk.find((row) => Number(row.position) === walkedRows);
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

/** The completeness that an export states for a chain: all rows, all from a row on, or only the selected rows. */
type Extent = "whole" | "newest" | "selection";

/**
 * Heads, newest checkpoints and receipts of the selected rows' chains; of whole chains also where no row is left. The
 * expected rows are derived from the request and never from the rows found; otherwise removed rows would go unnoticed.
 */
async function chainsOf(
  tx: Tx,
  { chainIds, seqs }: Pick<Selection, "chainIds" | "seqs">,
  range: Range,
  extent: Extent,
): Promise<Map<string, SelectedChain>> {
  const bySeq = new Map<string, Set<number>>();
  chainIds.forEach((chainId, n) => {
    const own = bySeq.get(chainId);
    if (own) own.add(seqs[n] as number);
    else bySeq.set(chainId, new Set([seqs[n] as number]));
  });
  const values = new Values();
  const named = `h.chain_id = ANY (${values.add([...bySeq.keys()])}::uuid[])`;
  const facts = await tx.query<FactRow>({
    text: `
      SELECT h.chain_id, h.seq, h.checksum, h.base_seq,
             (SELECT c.note FROM checkpoint c WHERE c.chain_id = h.chain_id ORDER BY c.seq DESC LIMIT 1) AS checkpoint,
             ARRAY(SELECT r.note FROM prune_receipts r WHERE r.chain_id = h.chain_id ORDER BY r.last_seq) AS receipts
      FROM chain_head h WHERE ${extent === "whole" ? `(${named} OR ${rangeText(values, range, "h")})` : named}`,
    values: values.list,
  });
  const newest = extent === "newest" ? await newestFrom(tx, bySeq) : new Map<string, number>();
  return new Map(
    facts.map(
      ({ chain_id: chainId, seq: headSeq, checksum: headChecksum, base_seq: baseSeq, checkpoint, receipts }) => {
        const first = newest.get(chainId) ?? headSeq + 1;
        const from = extent === "whole" ? baseSeq + 1 : first > headSeq ? null : first;
        const chain = { chainId, headSeq, headChecksum, from, checkpoint, receipts: from === null ? [] : receipts };
        return [chainId, { ...chain, baseSeq }];
      },
    ),
  );
}

/**
 * The row from which each chain is complete in a truncated export: after the last omitted one, since rows are ordered
 * by time and not by seq. None where times and seqs disagree too much for a cheap answer.
 */
async function newestFrom(tx: Tx, chains: ReadonlyMap<string, ReadonlySet<number>>): Promise<Map<string, number>> {
  const lowest = new Map([...chains].map(([chainId, seqs]) => [chainId, Math.min(...seqs)]));
  const stored = await tx.query<{ chain_id: string; seq: number }>(sql`
    SELECT w.chain_id, l.seq FROM unnest(${[...lowest.keys()]}::uuid[], ${[...lowest.values()]}::bigint[]) AS w (chain_id, lowest)
    CROSS JOIN LATERAL (
      SELECT l.seq FROM audit_log l WHERE l.chain_id = w.chain_id AND l.seq >= w.lowest ORDER BY l.seq LIMIT ${mostCompared}
    ) l`);
  const counts = new Map<string, number>();
  for (const { chain_id: chainId, seq } of stored) {
    counts.set(chainId, (counts.get(chainId) ?? 0) + 1);
    if (!chains.get(chainId)?.has(seq)) lowest.set(chainId, Math.max(lowest.get(chainId) ?? 0, seq + 1));
  }
  for (const [chainId, count] of counts) if (count === mostCompared) lowest.delete(chainId);
  return lowest;
}

/**
 * The selected rows in order, a hundred at a time, read on demand: a slow reader holds no connection. Throws when a row
 * was pruned meanwhile.
 */
export async function* selectedRows(db: Database, who: CallContext, selection: Selection): AsyncGenerator<ChainRow[]> {
  const { chainIds, seqs } = selection;
  for (let at = 0; at < seqs.length; at += rowsPerRead) {
    const wanted = seqs.slice(at, at + rowsPerRead);
    // The limit keeps the planner at one lookup in the primary key per row: small tables were joined whole, once for
    // each read.
    const rows = await readNewest<ChainRowRecord>(db, who, {
      text: `SELECT ${chainRowColumns}
        FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS k (chain_id, seq, n)
        CROSS JOIN LATERAL (SELECT * FROM audit_log l WHERE l.chain_id = k.chain_id AND l.seq = k.seq LIMIT 1) l
        ORDER BY k.n`,
      values: [chainIds.slice(at, at + rowsPerRead), wanted],
    });
    if (rows.length !== wanted.length) throw new AppError("unavailable", "Rows were pruned while they were exported");
    yield rows.map(chainRowOf);
  }
}
