import { type Database, sql } from "@muster/db";
import { AppError, type CallContext, type Page } from "@muster/kit";
import type { TenantReader } from "@muster/service";
import type { LogFilter } from "../rules/log-filter.ts";
import { cursorOf, positionOf, type Range, rangeOf } from "../rules/range.ts";
import { matchingActions } from "./actions.ts";
import { rangeText, scansRows, Values } from "./conditions.ts";
import { estimate, listingTotal, rangeTotal, type Total } from "./log-counts.ts";
import { indexedPage, type Listing, type LogPage, walkedPage } from "./log-pages.ts";
import { type LogRow, shownColumns } from "./log-row.ts";
import type { SearchPermits } from "./search-permits.ts";

/** One visible row, or null. Unique index (chain_id, id) within chains, audit_log_by_id beyond. */
export async function findLog(db: Database, who: CallContext, range: Range, id: string): Promise<LogRow | null> {
  const values = new Values();
  const conditions = `${rangeText(values, range)} AND l.id = ${values.add(id)}::uuid`;
  const [row] = await db.read<LogRow>(who, {
    text: `SELECT ${shownColumns("l")} FROM audit_log l WHERE ${conditions} ORDER BY l.timestamp DESC LIMIT 1`,
    values: values.list,
  });
  return row ?? null;
}

/**
 * The range that the caller reads, limited to `orgId` when given. Throws `site_restricted`, and
 * `organization_not_found` for an organization out of the caller's scope or without a chain.
 */
export async function readableRange(reader: TenantReader, who: CallContext, orgId: string | null): Promise<Range> {
  const range = rangeOf(who.caller, orgId);
  if (orgId && !(await isVisible(reader, who, orgId))) {
    throw new AppError("organization_not_found", "Organization not found");
  }
  return range;
}

/** Row-level security decides; a system caller also reads the rows of deleted organizations. */
async function isVisible({ db, learnTenants }: TenantReader, who: CallContext, orgId: string): Promise<boolean> {
  const { caller } = who;
  if (caller.scope === "organization") return caller.orgId === orgId;
  if (caller.orgAccess.mode === "list" && !caller.orgAccess.orgIds.includes(orgId)) return false;
  const readAccess = async () =>
    (
      await db.read<{ deleted: boolean | null; has_chain: boolean }>(
        who,
        sql`SELECT (SELECT deleted FROM tenant WHERE kind = 'organization' AND id = ${orgId}) AS deleted,
              EXISTS (SELECT FROM chain_head WHERE chain_id = ${orgId} AND org_id = ${orgId}) AS has_chain`,
      )
    )[0];
  // The copy of a new organization, or its first row, may be on its way: either of them is enough.
  const isUnknown = (row: Awaited<ReturnType<typeof readAccess>>) => !row?.has_chain && (row?.deleted ?? null) === null;
  let row = await readAccess();
  if (isUnknown(row) && (await learnTenants([orgId]))) row = await readAccess();
  if (isUnknown(row)) return false;
  return caller.scope === "system" || !row?.deleted;
}

export type LogList = { rows: LogRow[]; total: Total | null; nextCursor: string; searchedTo: Date | null };

type Search = { db: Database; permits: SearchPermits; budgetMs: number };

/** A page of visible rows, newest first, and their number unless the count is skipped. */
export async function listLogs(
  { db, permits, budgetMs }: Search,
  who: CallContext,
  range: Range,
  filter: LogFilter,
  page: Page,
): Promise<LogList> {
  const from = page.cursor ? positionOf(page.cursor) : { offset: (page.page - 1) * page.limit };
  const actions = await matchingActions(db, who, range, filter);
  const listing: Listing = { range, filter, actions };
  if (!scansRows(filter) || actions) {
    const found = await indexedPage(db, who, listing, from, page.limit);
    const count = () => listingTotal(db, who, listing, budgetMs);
    const isNarrower = filter.from !== null || filter.to !== null || filter.excludeTargetTypes.length > 0;
    const bounded = isNarrower || actions !== null;
    const total = page.skipCount
      ? null
      : (wholeOf(found, from) ?? (bounded ? await permits.run(who, count) : await free()));
    return shown(found, total);
  }
  return permits.run(who, async () => {
    const found = await walkedPage(db, who, listing, from, page.limit, budgetMs);
    if (page.skipCount) return shown(found, null);
    // A count would scan the same rows and reach its deadline as the walk did.
    if (found.searchedTo) {
      return shown(found, { total: await estimate(db, who, listing, found.seen), isEstimate: true });
    }
    return shown(found, wholeOf(found, from) ?? (await listingTotal(db, who, listing, budgetMs)));
  });

  async function free(): Promise<Total> {
    return { total: await rangeTotal(db, who, range), isEstimate: false };
  }
}

/** The total, when the page itself is everything. */
function wholeOf(found: LogPage, from: object): Total | null {
  const isFirst = "offset" in from && from.offset === 0;
  return isFirst && !found.next && !found.searchedTo ? { total: found.rows.length, isEstimate: false } : null;
}

function shown({ rows, next, searchedTo }: LogPage, total: Total | null): LogList {
  return { rows, total, nextCursor: next ? cursorOf(next) : "", searchedTo };
}
