import { create } from "@bufbuild/protobuf";
import { type Database, type Query, sql } from "@muster/db";
import { type CallContext, decodeCursor, encodeCursor, type Page } from "@muster/kit";
import { PageInfoSchema } from "@muster/proto/muster/common/v1/page_pb";

/** Rows that are counted one by one; a longer list's total is the planner's estimate. */
const exactCount = 10_000;

/** A list ordered by (name, id): an index begins with the columns of `where` and continues with these two. */
export type NameList = {
  tableName: string;
  table: Query;
  columns: Query;
  where: Query;
  /**
   * `where` without conditions that the planner cannot estimate (it assumes that any NOT IN matches every second row).
   */
  estimateBy?: Query;
  /** The list holds several values of the index's first column: it is merged from one walk for each. */
  among?: { column: Query; ids: readonly string[] };
};

export type NamePage<R> = { rows: R[]; total: number | null; totalIsEstimate: boolean; nextCursor: string };

/** A condition for rows of which a column contains a text, ignoring case; true for an empty text. */
export function containing(text: string, ...columns: readonly [Query, ...Query[]]): Query {
  if (text === "") return sql`true`;
  const found = columns.map((column) => sql`position(lower(${text}) IN lower(${column})) > 0`);
  return sql`(${found.reduce((any, each) => sql`${any} OR ${each}`)})`;
}

/** One page and the total, in one flight. Throws `validation_failed` on a cursor that is not of such a list. */
export async function readNamePage<R extends { id: string; name: string }>(
  db: Database,
  who: CallContext,
  list: NameList,
  page: Page,
): Promise<NamePage<R>> {
  return (await readNamePageAnd<R>(db, who, list, page, null)).listed;
}

/** As readNamePage; the rows of another query arrive in the same round trip. */
export async function readNamePageAnd<R extends { id: string; name: string }>(
  db: Database,
  who: CallContext,
  list: NameList,
  page: Page,
  also: Query | null,
): Promise<{ listed: NamePage<R>; also: readonly unknown[] }> {
  const counting = page.skipCount ? null : countQuery(list);
  const sent = [pageQuery(list, page), ...(counting ? [counting] : []), ...(also ? [also] : [])];
  const answers = await db.readAll<unknown[]>(who, sent);
  const rows = answers[0] as R[];
  const counted = counting ? (answers[1] as { n: number }[]) : [];
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > page.limit && last ? encodeCursor([last.name, last.id]) : "";
  const n = counted[0]?.n ?? null;
  const many = n !== null && n > exactCount;
  const total = many ? await estimate(db, who, list) : n;
  const listed = { rows: shown, total, totalIsEstimate: many, nextCursor };
  return { listed, also: also ? (answers.at(-1) as unknown[]) : [] };
}

/** How many rows a list has, counted up to 10,000 and estimated beyond. */
export async function countNames(
  db: Database,
  who: CallContext,
  list: NameList,
): Promise<{ total: number; isEstimate: boolean }> {
  const [row] = await db.read<{ n: number }>(who, countQuery(list));
  const n = row?.n ?? 0;
  return n > exactCount ? { total: await estimate(db, who, list), isEstimate: true } : { total: n, isEstimate: false };
}

/** The page in the reply's form. */
export function pageInfo(page: Page, { total, totalIsEstimate, nextCursor }: Omit<NamePage<unknown>, "rows">) {
  return create(PageInfoSchema, {
    page: page.page,
    limit: page.limit,
    nextCursor,
    totalIsEstimate,
    ...(total === null ? {} : { total: BigInt(total) }),
  });
}

function pageQuery(list: NameList, page: Page): Query {
  const limit = page.limit + 1;
  if (page.cursor !== null) {
    const [name, id] = positionOf(page.cursor);
    return walk(list, sql`(name, id) > (${name}::varchar, ${id}::uuid)`, limit, 0);
  }
  return walk(list, sql`true`, limit, (page.page - 1) * page.limit);
}

function walk({ table, columns, where, among }: NameList, after: Query, limit: number, offset: number): Query {
  if (among) {
    const ids = [...new Set(among.ids)];
    return sql`SELECT ${columns} FROM unnest(${ids}::uuid[]) AS among (value)
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM ${table} WHERE ${among.column} = among.value AND ${where} AND ${after}
        ORDER BY name, id LIMIT ${limit + offset}
      ) AS part
      ORDER BY name, id LIMIT ${limit} OFFSET ${offset}`;
  }
  if (offset === 0) {
    return sql`SELECT ${columns} FROM ${table} WHERE ${where} AND ${after} ORDER BY name, id LIMIT ${limit}`;
  }
  // The skipped rows are read from the index alone.
  return sql`SELECT ${columns} FROM ${table}
    WHERE id IN (SELECT id FROM ${table} WHERE ${where} ORDER BY name, id LIMIT ${limit} OFFSET ${offset})
    ORDER BY name, id`;
}

function countQuery({ table, where }: NameList): Query {
  return sql`SELECT count(*) AS n FROM (SELECT FROM ${table} WHERE ${where} LIMIT ${exactCount + 1}) AS counted`;
}

type Plan = { "QUERY PLAN": { Plan: { "Plan Rows": number } }[] };

/**
 * Rows of the table, times the share of them that the planner expects. What it expects of the row-level policies stands
 * in both plans, and cancels out.
 */
async function estimate(
  db: Database,
  who: CallContext,
  { table, tableName, where, estimateBy = where }: NameList,
): Promise<number> {
  const [listed, all, [statistics]] = await db.readAll<[Plan, Plan, { rows: number }]>(who, [
    sql`EXPLAIN (FORMAT JSON) SELECT FROM ${table} WHERE ${estimateBy}`,
    sql`EXPLAIN (FORMAT JSON) SELECT FROM ${table}`,
    sql`SELECT reltuples AS rows FROM pg_class WHERE oid = ${tableName}::regclass`,
  ]);
  const planned = ([plan]: Plan[]) => plan?.["QUERY PLAN"][0]?.Plan["Plan Rows"] ?? 1;
  const share = Math.min(1, planned(listed) / Math.max(1, planned(all)));
  return Math.max(Math.round(share * (statistics?.rows ?? 0)), exactCount + 1);
}

function positionOf(cursor: string): [name: string, id: string] {
  return decodeCursor(cursor, ["text", "uuid"]);
}
