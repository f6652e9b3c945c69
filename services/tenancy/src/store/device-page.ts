import { type Query, sql, type Tx } from "@muster/db";
import { decodeCursor, encodeCursor, foreignCursor, type Page } from "@muster/kit";
import type { NamePage } from "./name-page.ts";

/** Rows that are counted one by one; a longer list's total is the planner's estimate. */
const exactCount = 50_000;

/** What a list is ordered by besides id: an expression without nulls, and its name, which stands in cursors. */
export type Order = { name: string; key: Query; holds: "time" | "text"; isDescending: boolean };

const newestFirst: Order = { name: "newest", key: sql`created_at`, holds: "time", isDescending: true };

/** Rows of a table that are counted. */
export type Counted = {
  tableName: "devices" | "device_groups";
  table: Query;
  where: Query;
  /**
   * `where` without conditions that the planner cannot estimate (it assumes that any NOT IN matches every second row).
   */
  estimateBy: Query;
};

/** A list, newest first: an index begins with the columns of `where` and continues with (created_at, id). */
export type NewestList = Counted & { columns: Query; order?: Order };

/** One page and the total. Throws `validation_failed` on a cursor that is not of such a list, in this order. */
export async function readNewestPage<R extends { id: string; created_at: Date }>(
  tx: Tx,
  list: NewestList,
  page: Page,
): Promise<NamePage<R>> {
  const rows = await tx.query<R & { sort_key: Date | string }>(pageQuery(list, page));
  const complete = page.cursor === null && page.page === 1 && rows.length <= page.limit;
  // A search that finds little has read everything already: it is not made to do so twice.
  const exact = complete ? { count: rows.length, isEstimate: false } : null;
  const total = page.skipCount ? null : (exact ?? (await countUpToMany(tx, list)));
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > page.limit && last ? cursorAt(last, list.order) : "";
  return { rows: shown, total: total?.count ?? null, totalIsEstimate: total?.isEstimate ?? false, nextCursor };
}

/**
 * For this transaction an index is walked until the page is full. The planner assumes that hardly any row meets the
 * conditions of row-level security, and would read and sort all rows (0.9 s for a million, on two processors). A
 * generic plan would walk past the rows of all other organizations.
 */
export function inIndexOrder(tx: Tx): Promise<number> {
  return tx.execute(
    sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
               set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true),
               set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true)`,
  );
}

/**
 * For this transaction each statement is planned for its values: a status or an update state may be that of a handful
 * or of nearly all, and a plan that is kept for any would read the whole table for the former.
 */
export function forceCustomPlans(tx: Tx): Promise<number> {
  return tx.execute(sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`);
}

/** How many rows there are, counted up to 50,000 and estimated beyond. */
export async function countUpToMany(tx: Tx, list: Counted): Promise<{ count: number; isEstimate: boolean }> {
  const counted = await count(tx, list);
  if (counted <= exactCount) return { count: counted, isEstimate: false };
  return { count: await estimate(tx, list), isEstimate: true };
}

/** The page's ids come from an index-only scan, also behind filters and offsets; rows are read afterwards. */
function pageQuery({ table, columns, where, order = newestFirst }: NewestList, page: Page): Query {
  const from = page.cursor === null ? sql`true` : after(page.cursor, order);
  const offset = page.cursor === null ? (page.page - 1) * page.limit : 0;
  const direction = order.isDescending ? sql`DESC` : sql`ASC`;
  const sorted = sql`ORDER BY ${order.key} ${direction}, id ${direction}`;
  return sql`
    WITH page AS MATERIALIZED (
      SELECT id AS page_id, ${order.key} AS sort_key FROM ${table}
      WHERE ${where} AND ${from} ${sorted} LIMIT ${page.limit + 1} OFFSET ${offset}
    )
    SELECT ${columns}, sort_key FROM page JOIN ${table} ON id = page_id
    ORDER BY sort_key ${direction}, page_id ${direction}`;
}

function cursorAt(row: { id: string; sort_key: Date | string }, order: Order = newestFirst): string {
  return encodeCursor([...(order === newestFirst ? [] : [order.name]), row.sort_key, row.id]);
}

function after(cursor: string, order: Order): Query {
  const { key, isDescending } = order;
  const than = isDescending ? sql`<` : sql`>`;
  const [value, id] = positionOf(cursor, order);
  return value instanceof Date
    ? sql`(${key}, id) ${than} (${value}::timestamptz, ${id}::uuid)`
    : sql`(${key}, id) ${than} (${value}::text, ${id}::uuid)`;
}

function positionOf(cursor: string, { name, holds }: Order): [value: Date | string, id: string] {
  if (name === newestFirst.name) return decodeCursor(cursor, ["time", "uuid"]);
  const [found, value, id] = decodeCursor(cursor, ["text", holds, "uuid"]);
  if (found !== name) throw foreignCursor();
  return [value, id];
}

async function count(tx: Tx, { table, where }: Counted): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*) AS n FROM (SELECT FROM ${table} WHERE ${where} LIMIT ${exactCount + 1}) AS counted`,
  );
  return row?.n ?? 0;
}

type Plan = { "QUERY PLAN": { Plan: { "Plan Rows": number } }[] };

/**
 * Rows of the table, times the share of them that the planner expects. What it expects of the row-level policies stands
 * in both plans, and cancels out.
 */
async function estimate(tx: Tx, { table, tableName, estimateBy }: Counted): Promise<number> {
  const planned = async (rows: Query) => {
    const [row] = await tx.query<Plan>(sql`EXPLAIN (FORMAT JSON) SELECT FROM ${table} WHERE ${rows}`);
    return row?.["QUERY PLAN"][0]?.Plan["Plan Rows"] ?? 1;
  };
  const [listed, all, [statistics]] = await Promise.all([
    planned(estimateBy),
    planned(sql`true`),
    tx.query<{ rows: number }>(sql`SELECT reltuples AS rows FROM pg_class WHERE oid = ${tableName}::regclass`),
  ]);
  const share = Math.min(1, listed / Math.max(1, all));
  return Math.max(Math.round(share * (statistics?.rows ?? 0)), exactCount + 1);
}
