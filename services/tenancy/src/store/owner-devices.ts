import { type Database, type Query, sql } from "@muster/db";
import { type CallContext, decodeCursor, encodeCursor, foreignCursor, type Page } from "@muster/kit";
import type { OwnerSort, OwnerView } from "../rules/owner-list.ts";
import { rowsInScope } from "./device-scope.ts";
import { countNames, type NameList, type NamePage, readNamePageAnd } from "./name-page.ts";
import { withinSearchTime } from "./search-time.ts";

export type DeviceCountsRow = { online: number; offline: number; updating: number; quarantined: number };

/** A list of owners of devices, which are counted by their column. */
export type OwnerList = NameList & {
  owner: "org_id" | "site_id";
  /** Devices of these owners: `true` for all in scope. */
  devices: Query;
};

const countsOf = (list: OwnerList, who: CallContext, devices: Query): Query => {
  const owner = list.owner === "org_id" ? sql`org_id` : sql`site_id`;
  return sql`
    SELECT ${owner} AS owner_id, count(*) FILTER (WHERE status = 'online')::int AS online,
           count(*) FILTER (WHERE status = 'offline')::int AS offline,
           count(*) FILTER (WHERE status = 'updating')::int AS updating,
           count(*) FILTER (WHERE status = 'quarantined')::int AS quarantined
    FROM devices WHERE ${rowsInScope(who.caller)} AND ${devices} AND status <> 'decommissioned' GROUP BY 1`;
};

const none: DeviceCountsRow = { online: 0, offline: 0, updating: 0, quarantined: 0 };

/** The owners with how many devices of each status the caller sees there, counted in one statement. */
async function withDeviceCounts<R extends { id: string }>(
  db: Database,
  who: CallContext,
  list: OwnerList,
  rows: readonly R[],
): Promise<WithCounts<R>[]> {
  const owner = list.owner === "org_id" ? sql`org_id` : sql`site_id`;
  const ofThese = sql`${owner} = ANY (${rows.map(({ id }) => id)}::uuid[])`;
  type Counted = DeviceCountsRow & { owner_id: string };
  const counted = rows.length === 0 ? [] : await db.read<Counted>(who, countsOf(list, who, ofThese));
  const byOwner = new Map(counted.map(({ owner_id: id, ...counts }) => [id, counts]));
  return rows.map((row) => ({ ...row, counts: byOwner.get(row.id) ?? none }));
}

/** An owner in a list, with its devices where they were counted. */
export type WithCounts<R> = R & { counts?: DeviceCountsRow };

/**
 * A page of owners by name, with the counts of their devices when wanted, or in another order; the rows of another
 * query arrive with it.
 */
export async function readOwnerPage<R extends { id: string; name: string }>(
  db: Database,
  who: CallContext,
  list: OwnerList,
  page: Page,
  { hasCounts, sort, also: other = null }: OwnerView & { also?: Query | null },
): Promise<{ listed: NamePage<WithCounts<R>>; also: readonly unknown[] }> {
  if (sort !== "name") {
    const [listed, also] = await Promise.all([
      readOfflinePage<R>(db, who, list, page, sort),
      other === null ? [] : db.read<object>(who, other),
    ]);
    return { listed, also };
  }
  const { listed, also } = await readNamePageAnd<R>(db, who, list, page, other);
  const rows = hasCounts ? await withDeviceCounts(db, who, list, listed.rows) : listed.rows;
  return { listed: { ...listed, rows }, also };
}

/**
 * A page of owners, those with the largest share of offline devices first, then those with more of them, then by name.
 * Counts all devices in scope: throws `validation_failed` when that takes longer than 3 s, or on a cursor of another
 * order.
 */
async function readOfflinePage<R extends { id: string; name: string }>(
  db: Database,
  who: CallContext,
  list: OwnerList,
  page: Page,
  sort: OwnerSort,
): Promise<NamePage<WithCounts<R>>> {
  type Row = R & DeviceCountsRow & { urgency: number };
  const { rows, counted } = await withinSearchTime(who, "sort", async (within) => {
    const [found, total] = await Promise.all([
      db.read<Row>(within, pageQuery(list, who, page, sort)),
      page.skipCount ? null : countNames(db, within, list),
    ]);
    return { rows: found, counted: total };
  });
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const isMore = rows.length > page.limit && last !== undefined;
  return {
    rows: shown.map((row) => ({ ...row, counts: countsIn(row) })),
    total: counted?.total ?? null,
    totalIsEstimate: counted?.isEstimate ?? false,
    nextCursor: isMore ? encodeCursor([sort, last.urgency, last.name, last.id]) : "",
  };
}

const countsIn = ({ online, offline, updating, quarantined }: DeviceCountsRow): DeviceCountsRow => ({
  ...{ online, offline, updating, quarantined },
});

/**
 * One number that orders by the millionths of its devices that are offline, then by how many they are; 0 for owners
 * without devices, which come last.
 */
const urgency = sql`CASE WHEN coalesce(online + offline + updating, 0) = 0 THEN 0
  ELSE offline::bigint * 1000000 / (online + offline + updating) * 100000000 + offline + 1 END`;

function pageQuery(list: OwnerList, who: CallContext, page: Page, sort: OwnerSort): Query {
  const { table, columns, where, devices } = list;
  const after = page.cursor === null ? sql`true` : afterCursor(page.cursor, sort);
  const offset = page.cursor === null ? (page.page - 1) * page.limit : 0;
  return sql`
    WITH counted AS MATERIALIZED (${countsOf(list, who, devices)}),
    owners AS (
      SELECT ${columns}, coalesce(online, 0) AS online, coalesce(offline, 0) AS offline,
             coalesce(updating, 0) AS updating, coalesce(quarantined, 0) AS quarantined, ${urgency} AS urgency
      FROM ${table} LEFT JOIN counted ON owner_id = id WHERE ${where}
    )
    SELECT * FROM owners WHERE ${after} ORDER BY urgency DESC, name, id LIMIT ${page.limit + 1} OFFSET ${offset}`;
}

function afterCursor(cursor: string, sort: OwnerSort): Query {
  const [found, above, name, id] = decodeCursor(cursor, ["text", "count", "text", "uuid"]);
  if (found !== sort) throw foreignCursor();
  return sql`(-urgency, name, id) > (${-above}::bigint, ${name}::varchar, ${id}::uuid)`;
}
