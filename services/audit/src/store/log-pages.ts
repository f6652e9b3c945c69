import type { Database, Who } from "@muster/db";
import { AppError } from "@muster/kit";
import type { LogFilter } from "../rules/log-filter.ts";
import type { Position, Range } from "../rules/range.ts";
import { boundsText, keyText, matchText, newestRows, Values } from "./conditions.ts";
import { type LogRow, shownColumns, storedColumns } from "./log-row.ts";
import { readNewest } from "./planned-read.ts";

/** The source of a page. `actions` non-null: exactly these actions, and no other filter needs the rows. */
export type Listing = { range: Range; filter: LogFilter; actions: readonly string[] | null };

export type LogPage = {
  rows: LogRow[];
  /** Where the next page begins; null after the last row. */
  next: Position | null;
  /** How far back the search got, when its time was up before the page was full or the range at its end. */
  searchedTo: Date | null;
  /** What the walk saw, for an estimate of the whole. */
  seen: { examined: number; matched: number };
};

const firstChunk = 1_000;
const largestChunk = 64_000;

/** A page that indexes answer in order. */
export async function indexedPage(
  db: Database,
  who: Who,
  { range, filter, actions }: Listing,
  from: Position | { offset: number },
  limit: number,
): Promise<LogPage> {
  const values = new Values();
  const bounds = boundsText(values, filter, "id" in from ? from : null);
  const offset = "id" in from ? from.skip : from.offset;
  const source = newestRows(values, {
    range,
    actions,
    bounds,
    columns: storedColumns("l"),
    rows: values.add(offset + limit + 1),
  });
  const found = await readNewest<LogRow>(db, who, {
    text: `SELECT ${shownColumns("l")}
      FROM (SELECT * FROM ${source} ORDER BY l.timestamp DESC, l.id DESC OFFSET ${values.add(offset)}) l
      ORDER BY l.timestamp DESC, l.id DESC`,
    values: values.list,
  });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const next = found.length > limit && last ? { timestamp: last.timestamp, id: last.id, skip: 0 } : null;
  return { rows, next, searchedTo: null, seen: { examined: 0, matched: 0 } };
}

type WalkedRow = LogRow & { match: boolean; position: number; match_no: number };

/**
 * A page with filters that need every row: walks back in growing chunks until the page is full, the range is at
 * its end, or `budgetMs` is over. The first chunk is always finished, so that a repeat from `next` gets on.
 */
export async function walkedPage(
  db: Database,
  who: Who,
  listing: Listing,
  from: Position | { offset: number },
  limit: number,
  budgetMs: number,
): Promise<LogPage> {
  const endMs = performance.now() + budgetMs;
  const rows: WalkedRow[] = [];
  const seen = { examined: 0, matched: 0 };
  let position: Position | null = "id" in from ? from : null;
  let skip = "id" in from ? from.skip : from.offset;
  let chunk = firstChunk;
  while (seen.examined === 0 || performance.now() < endMs) {
    const startedMs = performance.now();
    // Callers may have less time than the search.
    const deadlineMs = seen.examined === 0 ? (who.deadlineMs ?? null) : Math.min(endMs, who.deadlineMs ?? endMs);
    const wanted = limit + 1 - rows.length;
    let found: WalkedRow[];
    try {
      found = await walkChunk(db, { ...who, deadlineMs }, listing, position, { chunk, skip, wanted });
    } catch (error) {
      if (seen.examined > 0 && error instanceof AppError && error.code === "deadline_exceeded") break;
      throw error;
    }
    const matches = found.filter((row) => row.match && row.match_no > skip);
    rows.push(...matches);
    if (rows.length > limit) {
      const last = rows[limit - 1] as WalkedRow;
      return { rows: rows.slice(0, limit), next: after(last, 0), searchedTo: null, seen: added(seen, found.at(-1)) };
    }
    const boundary = found.find((row) => row.position === chunk);
    if (!boundary) return { rows, next: null, searchedTo: null, seen };
    added(seen, boundary);
    skip = Math.max(0, skip - boundary.match_no);
    position = after(boundary, skip);
    if (performance.now() - startedMs < budgetMs / 8) chunk = Math.min(chunk * 4, largestChunk);
  }
  return { rows, next: position, searchedTo: position?.timestamp ?? null, seen };
}

/** Of the next `chunk` rows: the matches wanted, and the last row whatever it is, unless the range ended before. */
function walkChunk(
  db: Database,
  who: Who,
  { range, filter }: Listing,
  position: Position | null,
  { chunk, skip, wanted }: { chunk: number; skip: number; wanted: number },
): Promise<WalkedRow[]> {
  const values = new Values();
  const bounds = `${boundsText(values, filter, position)} AND ${keyText(values, filter, range)}`;
  const columns = `${storedColumns("l")}, ${matchText(values, filter)} AS match`;
  const source = newestRows(values, { range, actions: null, bounds, columns, rows: values.add(chunk) });
  return readNewest<WalkedRow>(db, who, {
    text: `SELECT ${shownColumns("w")}, w.match, w.position, w.match_no
      FROM (
        SELECT l.*, row_number() OVER newest AS position, count(*) FILTER (WHERE l.match) OVER newest AS match_no
        FROM ${source}
        WINDOW newest AS (ORDER BY l.timestamp DESC, l.id DESC ROWS UNBOUNDED PRECEDING)
      ) w
      WHERE (w.match AND w.match_no > ${values.add(skip)}) OR w.position = ${values.add(chunk)}
      ORDER BY w.timestamp DESC, w.id DESC LIMIT ${values.add(wanted)}`,
    values: values.list,
  });
}

const after = ({ timestamp, id }: WalkedRow, skip: number): Position => ({ timestamp, id, skip });

function added(seen: LogPage["seen"], last: WalkedRow | undefined): LogPage["seen"] {
  seen.examined += last?.position ?? 0;
  seen.matched += last?.match_no ?? 0;
  return seen;
}
