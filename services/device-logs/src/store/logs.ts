import { type Database, type Query, sql, sqlName, type Tx } from "@muster/db";
import { anyOf, conditions, containing, nonEmpty, since, until } from "@muster/db/builder";
import { type CallContext, decodeCursor, encodeCursor, type Page, systemCaller, uuidv7 } from "@muster/kit";
import type { AgentLogEntry, EventEntry } from "../rules/entries.ts";

// The store: append, query and prune of the two kinds of logs. A second storage engine would replace this file.

export type Owner = { deviceId: string; orgId: string; partnerId: string };

/** What one device sent at once. */
export type Batch<T> = { owner: Owner; entries: readonly T[] };

export type AgentLogRow = {
  id: string;
  device_id: string;
  org_id: string;
  /** By which lists sort and filter: the arrival, where the device's time is more than a day ahead of it. */
  timestamp: Date;
  level: string;
  component: string;
  message: string;
  fields: string | null;
  agent_version: string | null;
  created_at: Date;
  claimed_timestamp: Date | null;
};

export type EventRow = {
  id: string;
  device_id: string;
  org_id: string;
  timestamp: Date;
  level: string;
  category: string;
  source: string;
  event_id: string | null;
  message: string;
  details: string | null;
  created_at: Date;
  claimed_timestamp: Date | null;
};

export type Filter = {
  deviceId: string;
  levels: readonly string[];
  component: string;
  category: string;
  source: string;
  search: string;
  from: Date | null;
  to: Date | null;
};

export type LogPage<R> = { rows: R[]; total: number | null; totalIsEstimate: boolean; nextCursor: string };

/** Rows that are counted one by one; a longer list's total is the planner's estimate. */
const exactCount = 50_000;
const pruneRows = 5_000;

/** The first column holds what lists sort by, the second the device's time where that is another. */
const sortedTime = (row: Query): Query => sql`
  CASE WHEN ${row}."timestamp" > now() + interval '24 hours' THEN now() ELSE ${row}."timestamp" END,
  CASE WHEN ${row}."timestamp" > now() + interval '24 hours' THEN ${row}."timestamp" END`;

/** Stores entries of any devices in one statement. */
export function appendAgentLogs(tx: Tx, batches: readonly Batch<AgentLogEntry>[]): Promise<number> {
  const owners = batches.map(({ owner }) => owner);
  const logs = batches.flatMap(({ entries }) => entries);
  const nth = batches.flatMap(({ entries }, at) => new Array<number>(entries.length).fill(at + 1));
  // The owner once for each device: three ids less for each row to be written as text and read again.
  return tx.execute(sql`
    INSERT INTO agent_log (id, device_id, org_id, partner_id, "timestamp", claimed_timestamp, level, component, message, fields, agent_version)
    SELECT l.id, (${owners.map((o) => o.deviceId)}::uuid[])[l.nth], (${owners.map((o) => o.orgId)}::uuid[])[l.nth],
           (${owners.map((o) => o.partnerId)}::uuid[])[l.nth], ${sortedTime(sql`l`)}, l.level, l.component, l.message, l.fields,
           l.agent_version
    FROM unnest(
      ${logs.map(() => uuidv7())}::uuid[], ${nth}::int[], ${logs.map((l) => l.timestamp)}::timestamptz[],
      ${logs.map((l) => l.level)}::text[], ${logs.map((l) => l.component)}::varchar[],
      ${logs.map((l) => l.message)}::text[], ${logs.map((l) => l.fieldsJson)}::jsonb[],
      ${logs.map((l) => l.agentVersion)}::varchar[])
      AS l (id, nth, "timestamp", level, component, message, fields, agent_version)`);
}

/**
 * Stores the events that are not stored yet, and returns their number. In a fixed order, so that two transactions that
 * store the same events wait for each other and never deadlock.
 */
export function appendEvents(tx: Tx, { owner, entries: events }: Batch<EventEntry>): Promise<number> {
  return tx.execute(sql`
    INSERT INTO event_log (id, device_id, org_id, partner_id, "timestamp", claimed_timestamp, level, category, source, event_id, message, details)
    SELECT e.id, ${owner.deviceId}::uuid, ${owner.orgId}::uuid, ${owner.partnerId}::uuid, ${sortedTime(sql`e`)}, e.level, e.category,
           e.source, e.event_id, e.message, e.details
    FROM unnest(
      ${events.map(() => uuidv7())}::uuid[], ${events.map((e) => e.timestamp)}::timestamptz[],
      ${events.map((e) => e.level)}::text[], ${events.map((e) => e.category)}::text[],
      ${events.map((e) => e.source)}::varchar[], ${events.map((e) => e.eventId)}::varchar[],
      ${events.map((e) => e.message)}::text[], ${events.map((e) => e.detailsJson)}::jsonb[])
      AS e (id, "timestamp", level, category, source, event_id, message, details)
    ORDER BY e.source, e.event_id
    ON CONFLICT DO NOTHING`);
}

/** A page of a device's diagnostic logs, newest first (index agent_log_of_device). */
export function queryAgentLogs(
  db: Database,
  who: CallContext,
  filter: Filter,
  page: Page,
): Promise<LogPage<AgentLogRow>> {
  const columns = sql`id, device_id, org_id, "timestamp", level, component, message, fields::text AS fields, agent_version, created_at, claimed_timestamp`;
  return query(db, who, { table: sql`agent_log`, columns, where: chosen(filter) }, page);
}

/** A page of a device's stored events, newest first (index event_log_of_device). */
export function queryEvents(db: Database, who: CallContext, filter: Filter, page: Page): Promise<LogPage<EventRow>> {
  const columns = sql`id, device_id, org_id, "timestamp", level, category, source, event_id, message, details::text AS details, created_at, claimed_timestamp`;
  return query(db, who, { table: sql`event_log`, columns, where: chosen(filter) }, page);
}

/** Drops weeks of diagnostic logs that ended before the first time, deletes events stored before the second one. */
export async function prune(
  db: Database,
  before: { agentLogs: Date; events: Date },
  go: () => boolean,
): Promise<{ weeks: string[]; agentLogs: number; events: number }> {
  const system = { caller: systemCaller("device-logs") };
  const done = { weeks: [] as string[], agentLogs: 0, events: 0 };
  while (go()) {
    const [row] = await db.inOneBatch(system, (tx) =>
      tx.query<{ week: string | null }>(sql`SELECT drop_agent_log_week(${before.agentLogs}) AS week`),
    );
    if (!row?.week) break;
    done.weeks.push(row.week);
  }
  const olderThan = (time: Date) => sql`created_at < ${time}`;
  done.agentLogs = await deleteInChunks(db, sql`agent_log_default`, olderThan(before.agentLogs), go);
  for (const part of eventPartitions) done.events += await deleteInChunks(db, part, olderThan(before.events), go);
  return done;
}

/** Creates the partitions of this week and the coming ones; returns how many were missing. */
export async function makeWeeks(db: Database, weeksAhead: number): Promise<number> {
  const [row] = await db.inOneBatch({ caller: systemCaller("device-logs") }, (tx) =>
    tx.query<{ made: number }>(sql`SELECT make_agent_log_weeks(${weeksAhead}) AS made`),
  );
  return row?.made ?? 0;
}

const eventPartitions: readonly Query[] = Array.from({ length: 16 }, (_, part) => sqlName(`event_log_${part}`));

/**
 * Deletes rows of one table in short transactions, while `go` agrees: nothing waits for a long delete. Found by the
 * BRIN index on created_at.
 */
export async function deleteInChunks(db: Database, table: Query, where: Query, go: () => boolean): Promise<number> {
  let all = 0;
  while (go()) {
    const gone = await db.inOneBatch({ caller: systemCaller("device-logs") }, (tx) =>
      tx.execute(sql`
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE ${where} LIMIT ${pruneRows} FOR UPDATE SKIP LOCKED))`),
    );
    all += gone;
    if (gone < pruneRows) break;
  }
  return all;
}

const chosen = (filter: Filter): Query =>
  conditions((rows) =>
    rows
      .where({ device_id: filter.deviceId })
      .where(nonEmpty({ component: filter.component, category: filter.category, source: filter.source }))
      .modify(anyOf, "level", filter.levels)
      .modify(since, "timestamp", filter.from)
      .modify(until, "timestamp", filter.to)
      .modify(containing, "message", filter.search),
  );

type List = { table: Query; columns: Query; where: Query };

async function query<R extends { id: string; timestamp: Date }>(
  db: Database,
  who: CallContext,
  list: List,
  page: Page,
): Promise<LogPage<R>> {
  const position = page.cursor === null ? sql`true` : after(page.cursor);
  const offset = page.cursor === null ? (page.page - 1) * page.limit : 0;
  const read = async (tx: Tx): Promise<LogPage<R>> => {
    const rows = await tx.query<R>(sql`
      SELECT ${list.columns} FROM ${list.table} WHERE ${list.where} AND ${position}
      ORDER BY "timestamp" DESC, id DESC LIMIT ${page.limit + 1} OFFSET ${offset}`);
    const complete = page.cursor === null && page.page === 1 && rows.length <= page.limit;
    const n = page.skipCount ? null : complete ? rows.length : await count(tx, list);
    const shown = rows.slice(0, page.limit);
    const last = shown.at(-1);
    const nextCursor = rows.length > page.limit && last ? encodeCursor([last.timestamp, last.id]) : "";
    const many = n !== null && n > exactCount;
    return { rows: shown, total: many ? await estimate(tx, list) : n, totalIsEstimate: many, nextCursor };
  };
  return db.tx(who, read, { readOnly: true });
}

function after(cursor: string): Query {
  const [at, id] = decodeCursor(cursor, ["time", "uuid"]);
  return sql`("timestamp", id) < (${at}::timestamptz, ${id}::uuid)`;
}

async function count(tx: Tx, { table, where }: List): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*) AS n FROM (SELECT FROM ${table} WHERE ${where} LIMIT ${exactCount + 1}) AS counted`,
  );
  return row?.n ?? 0;
}

type Plan = { "QUERY PLAN": { Plan: { "Plan Rows": number } }[] };

async function estimate(tx: Tx, { table, where }: List): Promise<number> {
  const [row] = await tx.query<Plan>(sql`EXPLAIN (FORMAT JSON) SELECT FROM ${table} WHERE ${where}`);
  return Math.max(row?.["QUERY PLAN"][0]?.Plan["Plan Rows"] ?? 0, exactCount + 1);
}
