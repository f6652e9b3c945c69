import type { Database, Query, Who } from "@muster/db";
import { AppError } from "@muster/kit";
import type { Range } from "../rules/range.ts";
import { boundsText, isKeyed, matchText, newestRows, rangeText, scansRows, Values } from "./conditions.ts";
import type { Listing } from "./log-pages.ts";
import { readMany, readNewest } from "./planned-read.ts";

export type Total = { total: number; isEstimate: boolean };

const sampleRows = 20_000;
const estimateMs = 1_000;

/** The number of a range's rows by its heads: newest − pruned. Costs nothing per row. */
export async function rangeTotal(db: Database, who: Who, range: Range): Promise<number> {
  const values = new Values();
  const [row] = await db.read<{ total: number }>(who, {
    text: `SELECT coalesce(sum(h.seq - h.base_seq), 0)::bigint AS total FROM chain_head h
      WHERE ${rangeText(values, range, "h")}`,
    values: values.list,
  });
  return row?.total ?? 0;
}

/** Counts the rows of a listing for at most `budgetMs`; estimates when that was not enough. */
export async function listingTotal(db: Database, who: Who, listing: Listing, budgetMs: number): Promise<Total> {
  const values = new Values();
  const parts = [rangeText(values, listing.range), boundsText(values, listing.filter, null)];
  if (listing.actions) parts.push(`l.action = ANY (${values.add([...listing.actions])}::text[])`);
  else parts.push(matchText(values, listing.filter));
  const rows = await within<{ total: number }>(db, who, budgetMs, {
    text: `SELECT count(*) AS total FROM audit_log l WHERE ${parts.join(" AND ")}`,
    values: values.list,
  });
  if (rows) return { total: rows[0]?.total ?? 0, isEstimate: false };
  return { total: await estimate(db, who, listing), isEstimate: true };
}

/**
 * The share of matches in `seen` (or in the newest rows, when none were seen yet) of all rows in the requested time
 * span.
 */
export async function estimate(
  db: Database,
  who: Who,
  listing: Listing,
  seen?: { examined: number; matched: number },
): Promise<number> {
  const all = (await rowsInTime(db, who, listing)) ?? (await rangeTotal(db, who, listing.range));
  if (!scansRows(listing.filter)) return all;
  // A walk that saw the rows of one record or actor alone says nothing of the share.
  const isShare = seen !== undefined && seen.examined > 0 && !isKeyed(listing.filter, listing.range);
  const { examined, matched } = isShare ? seen : await sample(db, who, listing);
  const least = Math.max(matched, seen?.matched ?? 0);
  return examined === 0 ? all : Math.max(least, Math.round((all * matched) / examined));
}

async function sample(db: Database, who: Who, { range, filter }: Listing) {
  const values = new Values();
  const bounds = boundsText(values, filter, null);
  const columns = `l.timestamp, l.id, ${matchText(values, filter)} AS match`;
  const source = newestRows(values, { range, actions: null, bounds, columns, rows: values.add(sampleRows) });
  const rows = await within<{ examined: number; matched: number }>(
    db,
    who,
    estimateMs,
    {
      text: `SELECT count(*) AS examined, count(*) FILTER (WHERE l.match) AS matched FROM ${source}`,
      values: values.list,
    },
    readNewest,
  );
  return rows?.[0] ?? { examined: 0, matched: 0 };
}

/** Rows between two times, from the sequence numbers at both ends: exact but for timestamps out of order. */
async function rowsInTime(db: Database, who: Who, { range, filter }: Listing): Promise<number | null> {
  if (!filter.from && !filter.to) return null;
  const values = new Values();
  const bounds = boundsText(values, filter, null);
  const end = (direction: string) => `
    CROSS JOIN LATERAL (SELECT l.seq FROM audit_log l WHERE l.chain_id = h.chain_id AND ${bounds}
                        ORDER BY l.timestamp ${direction}, l.id ${direction} LIMIT 1)`;
  const rows = await within<{ total: number }>(
    db,
    who,
    estimateMs,
    {
      text: `SELECT coalesce(sum(abs(last.seq - first.seq) + 1), 0)::bigint AS total
      FROM chain_head h ${end("DESC")} last ${end("ASC")} first
      WHERE ${rangeText(values, range, "h")}`,
      values: values.list,
    },
    readNewest,
  );
  return rows ? (rows[0]?.total ?? 0) : null;
}

/** The rows of a statement, or null when it took longer than `ms`; the caller's own deadline stays an error. */
async function within<R>(
  db: Database,
  who: Who,
  ms: number,
  statement: Query,
  read: typeof readMany = readMany,
): Promise<R[] | null> {
  const endMs = performance.now() + ms;
  try {
    return await read<R>(db, { ...who, deadlineMs: Math.min(endMs, who.deadlineMs ?? endMs) }, statement);
  } catch (error) {
    const isOwn = who.deadlineMs == null || performance.now() < who.deadlineMs - 20;
    if (isOwn && error instanceof AppError && error.code === "deadline_exceeded") return null;
    throw error;
  }
}
