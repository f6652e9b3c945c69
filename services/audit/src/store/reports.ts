import type { Database, Who } from "@muster/db";
import { AppError } from "@muster/kit";
import type { Range } from "../rules/range.ts";
import { boundsText, newestRows, rangeText, Values } from "./conditions.ts";
import { type LogRow, shownColumns, storedColumns } from "./log-row.ts";
import { readMany, readNewest } from "./planned-read.ts";

export type Span = { from: Date; to: Date };
export type Asked = { range: Range; span: Span; actions: readonly string[] | null };

export type CountRow = { action: string; result: string; day: string; total: number };
export type ActorRow = {
  actor_type: string;
  actor_id: string;
  actor_email: string | null;
  actor_name: string | null;
  total: number;
  success: number;
  failure: number;
  denied: number;
  last_at: Date;
  actors: number;
};

const mostRows = 50;
const nothing = { user: null, action: null, resource: null, query: null, excludeActions: [] };

function conditionsOf(values: Values, { range, span, actions }: Asked): string {
  const parts = [rangeText(values, range), boundsText(values, { ...nothing, ...span }, null)];
  if (actions) parts.push(`l.action = ANY (${values.add([...actions])}::text[])`);
  return parts.join(" AND ");
}

/** Rows by action, result and day (UTC). Throws `time_range_too_wide` when `budgetMs` were not enough. */
export function countRows(db: Database, who: Who, asked: Asked, budgetMs: number): Promise<CountRow[]> {
  const values = new Values();
  return within(who, budgetMs, (bounded) =>
    readMany<CountRow>(db, bounded, {
      text: `SELECT l.action::text AS action, l.result, to_char(date_trunc('day', l.timestamp, 'UTC') AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
          count(*) AS total
        FROM audit_log l WHERE ${conditionsOf(values, asked)}
        GROUP BY l.action, l.result, date_trunc('day', l.timestamp, 'UTC')`,
      values: values.list,
    }),
  );
}

/** The `most` actors with the most rows, named as their newest row names them, and how many actors there are. */
export function countActors(db: Database, who: Who, asked: Asked, most: number, budgetMs: number): Promise<ActorRow[]> {
  const values = new Values();
  const conditions = conditionsOf(values, asked);
  const named = conditionsOf(values, asked);
  return within(who, budgetMs, (bounded) =>
    readMany<ActorRow>(db, bounded, {
      text: `WITH a AS MATERIALIZED (
          SELECT l.actor_type, l.actor_id, count(*) AS total, count(*) FILTER (WHERE l.result = 'success') AS success,
            count(*) FILTER (WHERE l.result = 'failure') AS failure, count(*) FILTER (WHERE l.result = 'denied') AS denied,
            max(l.timestamp) AS last_at
          FROM audit_log l WHERE ${conditions} GROUP BY l.actor_type, l.actor_id
        ), top AS MATERIALIZED (
          SELECT a.*, count(*) OVER () AS actors FROM a ORDER BY total DESC, actor_id LIMIT ${values.add(most)}
        )
        SELECT top.*, n.actor_email, n.actor_name FROM top
        LEFT JOIN LATERAL (
          SELECT l.actor_email, l.actor_name FROM audit_log l
          WHERE ${named} AND l.timestamp = top.last_at AND l.actor_id = top.actor_id AND l.actor_type = top.actor_type
          LIMIT 1) n ON true
        ORDER BY total DESC, actor_id`,
      values: values.list,
    }),
  );
}

/** The newest rows of certain actions. */
export function newestOf(
  db: Database,
  who: Who,
  { range, span, actions }: Asked & { actions: readonly string[] },
  budgetMs: number,
): Promise<LogRow[]> {
  const values = new Values();
  const isOne = range.kind === "chains" && range.chainIds.length === 1;
  const time = boundsText(values, { ...nothing, ...span }, null);
  // In one chain as many scans of audit_log_by_action as there are actions; elsewhere a walk back in time.
  const bounds = isOne ? time : `${time} AND l.action = ANY (${values.add([...actions])}::text[])`;
  const source = newestRows(values, {
    range,
    actions: isOne ? actions : null,
    bounds,
    columns: storedColumns("l"),
    rows: values.add(mostRows),
  });
  return within(who, budgetMs, (bounded) =>
    readNewest<LogRow>(db, bounded, {
      text: `SELECT ${shownColumns("l")} FROM ${source} ORDER BY l.timestamp DESC, l.id DESC`,
      values: values.list,
    }),
  );
}

/** Runs a read for at most `ms`; the caller's own deadline stays what it is. */
async function within<T>(who: Who, ms: number, read: (bounded: Who) => Promise<T>): Promise<T> {
  const endMs = performance.now() + ms;
  const deadlineMs = Math.min(endMs, who.deadlineMs ?? endMs);
  try {
    return await read({ ...who, deadlineMs });
  } catch (error) {
    const isOwn = who.deadlineMs == null || performance.now() < who.deadlineMs - 20;
    if (isOwn && error instanceof AppError && error.code === "deadline_exceeded") {
      throw new AppError("time_range_too_wide", "Too many rows for one report: narrow from and to", { cause: error });
    }
    throw error;
  }
}
