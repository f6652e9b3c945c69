import { create } from "@bufbuild/protobuf";
import { type Database, type Query, sql } from "@muster/db";
import { type CallContext, type Caller, decodeCursor, encodeCursor, type Page } from "@muster/kit";
import { type PageInfo, PageInfoSchema } from "@muster/proto/muster/common/v1/page_pb";

/** Rows that are counted exactly; for a longer list the total is one more than this, as an estimate. */
const exactCount = 50_000;

/**
 * A filter may leave a handful of a million rows, or nearly all: a plan that is kept for any value would be wrong for
 * one of them. Neither is worth compiling, nor further workers.
 */
const planForValues = sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)`;

export type ListPage<R> = { rows: R[]; info: PageInfo };

/**
 * A list of the rows `wanted` of a table, named `t` in every part; `position` is what `after` makes its condition of.
 */
export type OrderedList<R> = {
  table: Query;
  columns: Query;
  wanted: Query;
  order: Query;
  position(row: R): (string | boolean | Date)[];
  after(cursor: string): Query;
};

/** One page, and the total unless it is skipped, in one batch. Throws what `after` throws on a foreign cursor. */
export async function readListPage<R>(
  db: Database,
  who: CallContext,
  { table, columns, wanted, order, position, after }: OrderedList<R>,
  page: Page,
): Promise<ListPage<R>> {
  const from = page.cursor === null ? sql`true` : after(page.cursor);
  const offset = page.cursor === null ? (page.page - 1) * page.limit : 0;
  const read = sql`
    SELECT ${columns} FROM ${table} AS t WHERE ${wanted} AND ${from}
    ORDER BY ${order} LIMIT ${page.limit + 1} OFFSET ${offset}`;
  const count = sql`
    SELECT count(*) AS n FROM (SELECT FROM ${table} AS t WHERE ${wanted} LIMIT ${exactCount + 1}) AS counted`;
  const [, rows, counted] = await db.readAll<[unknown, R, { n: number }]>(who, [
    planForValues,
    read,
    page.skipCount ? sql`SELECT 0 AS n WHERE false` : count,
  ]);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const n = counted[0]?.n;
  const info = create(PageInfoSchema, {
    page: page.page,
    limit: page.limit,
    nextCursor: rows.length > page.limit && last ? encodeCursor(position(last)) : "",
    totalIsEstimate: n !== undefined && n > exactCount,
    ...(n === undefined ? {} : { total: BigInt(n) }),
  });
  return { rows: shown, info };
}

/**
 * A list ordered by (created_at, id), newest first; `where` follows the caller's own condition, which is that of
 * rows of organizations unless `visible` is another.
 */
export type NewestList = { table: Query; columns: Query; where: Query; visible?: Query };

/**
 * One page of the rows in the caller's access scope, and the total unless it is skipped. Throws `validation_failed` on
 * a foreign cursor.
 */
export function readNewestPage<R extends { id: string; created_at: Date }>(
  db: Database,
  who: CallContext,
  { table, columns, where, visible = visibleTo(who.caller) }: NewestList,
  page: Page,
): Promise<ListPage<R>> {
  const list: OrderedList<R> = {
    table,
    columns,
    wanted: sql`${visible} AND ${where}`,
    order: sql`t.created_at DESC, t.id DESC`,
    position: (row) => [row.created_at, row.id],
    after: beforePosition,
  };
  return readListPage(db, who, list, page);
}

/** The query's own check of access besides row-level security, for rows of organizations in a table named `t`. */
export function visibleTo(caller: Caller): Query {
  if (caller.scope === "system") return sql`true`;
  if (caller.scope === "organization") return sql`t.org_id = ${caller.orgId}`;
  if (caller.orgAccess.mode === "all") return sql`t.partner_id = ${caller.partnerId}`;
  return sql`t.partner_id = ${caller.partnerId} AND t.org_id = ANY (${[...caller.orgAccess.orgIds]}::uuid[])`;
}

/**
 * The rows of one organization in a table named `t`, or with null of all. Only what filters stands in the text: each of
 * both has a prepared plan that fits it, and is not planned anew for each call.
 */
export const ofOrganization = (orgId: string | null): Query => (orgId === null ? sql`true` : sql`t.org_id = ${orgId}`);

function beforePosition(cursor: string): Query {
  const [time, id] = decodeCursor(cursor, ["time", "uuid"]);
  return sql`(t.created_at, t.id) < (${time}::timestamptz, ${id}::uuid)`;
}
