import type { Database, Who } from "@muster/db";
import { AppError } from "@muster/kit";
import { noFilter } from "../rules/log-filter.ts";
import type { Range } from "../rules/range.ts";
import { acceptedAction, signInActions } from "../rules/reported-actions.ts";
import { boundsText, newestRows, rangeText, Values } from "./conditions.ts";
import { type LogRow, shownColumns, storedColumns } from "./log-row.ts";
import { readMany, readNewest } from "./planned-read.ts";

export type Span = { from: Date; to: Date };
export type ReportQuery = { range: Range; span: Span; actions: readonly string[] | null };

export type CountRow = { action: string; result: string; day: string; total: number };
export type ActorCounts = {
  actor_type: string;
  actor_id: string;
  total: number;
  success: number;
  failure: number;
  denied: number;
  last_at: Date;
};
export type ActorRow = ActorCounts & { actor_email: string | null; actor_name: string | null };

const mostRows = 50;
const mostActors = 200_000;
/** No statement of a report runs longer; what a longer one would count is counted in more of them. */
const statementMs = 2_000;
const easyMs = 300;
const firstSliceMs = 30 * 86_400_000;
const leastSliceMs = 60_000;

function conditionsOf(values: Values, { range, span, actions }: ReportQuery): string {
  const parts = [rangeText(values, range), boundsText(values, { ...noFilter, ...span }, null)];
  if (actions) parts.push(`l.action = ANY (${values.add([...actions])}::text[])`);
  return parts.join(" AND ");
}

export type Counted = {
  /** Rows by action, result and day (UTC). */
  counts: CountRow[];
  /** The actors with the most rows, named as their newest row names them. */
  actors: ActorRow[];
  /** How many actors there are. */
  actorTotal: number;
};

type Group = {
  /** Of the second kind: by actor and result. */
  is_actor: boolean;
  action: string;
  day: number;
  actor_type: string;
  actor_id: string;
  result: string;
  total: number;
  last_at: Date;
};

/**
 * Counts rows by action, result and day, and by actor, of which the `most` active are named: in one pass, since reading
 * the rows dominates. Throws `time_range_too_wide` on a timeout, or beyond 200,000 actors.
 */
export async function countRows(
  db: Database,
  who: Who,
  query: ReportQuery,
  most: number,
  endMs: number,
): Promise<Counted> {
  const counts = new Map<string, CountRow>();
  const actors = new Map<string, ActorCounts>();
  await sliced(who, query.span, endMs, async (bounded, span) => {
    const values = new Values();
    const groups = await readMany<Group>(db, bounded, {
      text: `SELECT grouping(l.action) = 1 AS is_actor, l.action::text AS action, d.day, l.actor_type, l.actor_id, l.result,
          count(*) AS total, max(l.timestamp) AS last_at
        FROM audit_log l CROSS JOIN LATERAL (SELECT (l.timestamp AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day) d
        WHERE ${conditionsOf(values, { ...query, span })}
        GROUP BY GROUPING SETS ((l.action, d.day, l.result), (l.actor_type, l.actor_id, l.result))`,
      values: values.list,
    });
    for (const group of groups) {
      if (group.is_actor) addActor(actors, group);
      else addCount(counts, group);
    }
    if (actors.size > mostActors) throw tooWide();
  });
  const top = [...actors.values()].sort((a, b) => b.total - a.total || (a.actor_id < b.actor_id ? -1 : 1));
  return {
    counts: [...counts.values()],
    actors: await named(db, who, query, top.slice(0, most)),
    actorTotal: actors.size,
  };
}

export type SignInCount = { atMs: number; accepted: number; refused: number };

/**
 * Sign-ins in each step that has any, oldest first (index audit_log_by_action in one chain). Throws as countRows.
 */
export async function countSignIns(
  db: Database,
  who: Who,
  { range, span, stepMs }: Pick<ReportQuery, "range" | "span"> & { stepMs: number },
  endMs: number,
): Promise<SignInCount[]> {
  const counts = new Map<number, SignInCount>();
  await sliced(who, span, endMs, async (bounded, slice) => {
    const values = new Values();
    const step = `floor(extract(epoch FROM l.timestamp) / ${values.add(stepMs / 1_000)}::int)::int`;
    const rows = await readMany<{ step: number; accepted: boolean; total: number }>(db, bounded, {
      text: `SELECT ${step} AS step, l.action = ${values.add(acceptedAction)} AND l.result = 'success' AS accepted, count(*) AS total
        FROM audit_log l
        WHERE ${conditionsOf(values, { range, span: slice, actions: signInActions })} GROUP BY 1, 2`,
      values: values.list,
    });
    for (const { step: at, accepted, total } of rows) {
      const sum = counts.get(at) ?? { atMs: at * stepMs, accepted: 0, refused: 0 };
      sum[accepted ? "accepted" : "refused"] += Number(total);
      counts.set(at, sum);
    }
  });
  return [...counts.values()].sort((a, b) => a.atMs - b.atMs);
}

function addCount(counts: Map<string, CountRow>, { action, result, day, total }: Group): void {
  const key = `${day} ${result} ${action}`;
  const sum = counts.get(key);
  if (sum) sum.total += total;
  else counts.set(key, { action, result, day: new Date(day * 86_400_000).toISOString().slice(0, 10), total });
}

function addActor(actors: Map<string, ActorCounts>, { actor_type, actor_id, result, total, last_at }: Group): void {
  const key = `${actor_type} ${actor_id}`;
  const sum = actors.get(key) ?? { actor_type, actor_id, total: 0, success: 0, failure: 0, denied: 0, last_at };
  actors.set(key, sum);
  sum.total += total;
  if (result === "success" || result === "failure" || result === "denied") sum[result] += total;
  if (last_at > sum.last_at) sum.last_at = last_at;
}

/** Actors with what their newest rows call them: one lookup in an ordered index each. */
async function named(db: Database, who: Who, query: ReportQuery, top: readonly ActorCounts[]): Promise<ActorRow[]> {
  if (top.length === 0) return [];
  const values = new Values();
  const own = conditionsOf(values, query);
  const rows = await readNewest<{ actor_email: string | null; actor_name: string | null }>(db, who, {
    text: `SELECT n.actor_email, n.actor_name
      FROM unnest(${values.add(top.map((a) => a.actor_type))}::text[], ${values.add(top.map((a) => a.actor_id))}::uuid[],
                  ${values.add(top.map((a) => a.last_at.toISOString()))}::timestamptz[])
        WITH ORDINALITY AS a (type, id, last_at, n)
      LEFT JOIN LATERAL (
        SELECT l.actor_email, l.actor_name FROM audit_log l
        WHERE ${own} AND l.timestamp = a.last_at AND l.actor_id = a.id AND l.actor_type = a.type LIMIT 1) n ON true
      ORDER BY a.n`,
    values: values.list,
  });
  return top.map((actor, n) => ({ ...actor, actor_email: null, actor_name: null, ...rows[n] }));
}

/**
 * Runs `count` over a span in slices, each within `statementMs`: a slice that took too long is split, fast ones grow.
 * Every row is in exactly one slice, since timestamps are whole milliseconds and rows never change.
 */
async function sliced(
  who: Who,
  { from, to }: Span,
  endMs: number,
  count: (bounded: Who, slice: Span) => Promise<void>,
): Promise<void> {
  let sliceMs = firstSliceMs;
  let atMs = from.getTime();
  while (atMs <= to.getTime()) {
    const startedMs = performance.now();
    if (startedMs >= endMs) throw tooWide();
    const untilMs = Math.min(atMs + sliceMs - 1, to.getTime());
    const deadlineMs = Math.min(startedMs + statementMs, endMs, who.deadlineMs ?? endMs);
    try {
      await count({ ...who, deadlineMs }, { from: new Date(atMs), to: new Date(untilMs) });
    } catch (error) {
      const isOwn = who.deadlineMs == null || performance.now() < who.deadlineMs - 20;
      if (!isOwn || !(error instanceof AppError) || error.code !== "deadline_exceeded") throw error;
      if (sliceMs <= leastSliceMs) throw tooWide(error);
      sliceMs = Math.max(leastSliceMs, Math.floor(sliceMs / 4));
      continue;
    }
    atMs = untilMs + 1;
    if (performance.now() - startedMs < easyMs) sliceMs *= 2;
  }
}

function tooWide(cause?: unknown): AppError {
  const options = cause === undefined ? {} : { cause };
  return new AppError("time_range_too_wide", "Too many rows for one report: narrow from and to", options);
}

/** The newest rows of certain actions. */
export function newestOf(
  db: Database,
  who: Who,
  { range, span, actions }: ReportQuery & { actions: readonly string[] },
  endMs: number,
): Promise<LogRow[]> {
  const values = new Values();
  const isOne = range.kind === "chains" && range.chainIds.length === 1;
  const time = boundsText(values, { ...noFilter, ...span }, null);
  // In one chain as many scans of audit_log_by_action as there are actions; elsewhere a walk back in time.
  const bounds = isOne ? time : `${time} AND l.action = ANY (${values.add([...actions])}::text[])`;
  const source = newestRows(values, {
    range,
    actions: isOne ? actions : null,
    bounds,
    columns: storedColumns("l"),
    rows: values.add(mostRows),
  });
  const deadlineMs = Math.min(endMs, who.deadlineMs ?? endMs);
  return readNewest<LogRow>(
    db,
    { ...who, deadlineMs },
    {
      text: `SELECT ${shownColumns("l")} FROM ${source} ORDER BY l.timestamp DESC, l.id DESC`,
      values: values.list,
    },
  );
}
