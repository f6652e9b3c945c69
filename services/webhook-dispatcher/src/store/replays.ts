import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import { type ReplayStatus, type ReplayWanted, replayedId } from "../rules/replay.ts";
import { type Found, nextOf } from "./replayed.ts";

export type ReplayRow = {
  id: string;
  webhook_id: string;
  org_id: string;
  partner_id: string;
  since: Date;
  until: Date;
  status_filter: ReplayStatus;
  events: string[];
  state: "queued" | "running" | "done" | "cancelled";
  position_at: Date | null;
  position_id: string | null;
  read_to_end: boolean;
  queued: number;
  skipped: number;
  created_by: string;
  created_at: Date;
  finished_at: Date | null;
};

export type ReplayOutcomes = { pending: number; retrying: number; delivered: number; failed: number };

const columns = sql`t.id, t.webhook_id, t.org_id, t.partner_id, t.since, t.until, t.status_filter, t.events, t.state,
  t.position_at, t.position_id, t.read_to_end, t.queued, t.skipped, t.created_by, t.created_at, t.finished_at`;

type Of = { id: string; org_id: string; partner_id: string };

/** Most open replays of a webhook; they run one after the other. */
export const maxOpenReplays = 5;

/** Inserts a replay of a locked webhook; null at the limit of open replays. */
export async function insertReplay(
  tx: Tx,
  id: string,
  webhook: Of,
  { since, until, status, events }: ReplayWanted,
  createdBy: string,
  now: Date,
): Promise<ReplayRow | null> {
  const [row] = await tx.query<ReplayRow>(sql`
    INSERT INTO webhook_replays AS t (id, webhook_id, org_id, partner_id, since, until, status_filter, events, created_by,
                                      created_at)
    SELECT ${id}, ${webhook.id}, ${webhook.org_id}, ${webhook.partner_id}, ${since}, ${until}, ${status}, ${events},
           ${createdBy}, ${now}
    WHERE (SELECT count(*) FROM webhook_replays r
           WHERE r.webhook_id = ${webhook.id} AND r.state IN ('queued', 'running')) < ${maxOpenReplays}
    RETURNING ${columns}`);
  return row ?? null;
}

/** Whether any replay is open (index webhook_replays_open). Reads only. */
export async function isAnyReplayOpen(tx: Tx): Promise<boolean> {
  return (await tx.query(sql`SELECT FROM webhook_replays WHERE state IN ('queued', 'running') LIMIT 1`)).length > 0;
}

/** A page of a webhook's replays, newest first (index webhook_replays_by_webhook). */
export function listReplays(
  db: Database,
  who: CallContext,
  webhookId: string,
  page: Page,
): Promise<ListPage<ReplayRow>> {
  return readNewestPage(
    db,
    who,
    { table: sql`webhook_replays`, columns, where: sql`t.webhook_id = ${webhookId}` },
    page,
  );
}

/**
 * One replay with the outcomes of its deliveries, or null (index webhook_deliveries_by_webhook: they have the
 * `created_at` of the replay).
 */
export async function findReplay(
  db: Database,
  who: CallContext,
  webhookId: string,
  id: string,
): Promise<(ReplayRow & ReplayOutcomes) | null> {
  const [row] = await db.read<ReplayRow & ReplayOutcomes>(
    who,
    sql`SELECT ${columns}, o.* FROM webhook_replays AS t
        CROSS JOIN LATERAL (
          SELECT count(*) FILTER (WHERE d.status = 'pending') AS pending,
                 count(*) FILTER (WHERE d.status = 'retrying') AS retrying,
                 count(*) FILTER (WHERE d.status = 'delivered') AS delivered,
                 count(*) FILTER (WHERE d.status = 'failed') AS failed
          FROM webhook_deliveries d
          WHERE d.webhook_id = t.webhook_id AND d.created_at = t.created_at AND d.origin = 'replay'
        ) AS o
        WHERE t.id = ${id} AND t.webhook_id = ${webhookId} AND ${visibleTo(who.caller)}`,
  );
  return row ?? null;
}

/**
 * Ends a replay that has not ended, drops its queued deliveries that are not being sent; null when there is no such
 * replay, `ended` when it had ended.
 */
export async function cancelReplay(
  tx: Tx,
  who: CallContext,
  webhookId: string,
  id: string,
  now: Date,
): Promise<{ row: ReplayRow; ended: boolean } | null> {
  const [before] = await tx.query<ReplayRow>(sql`
    SELECT ${columns} FROM webhook_replays AS t
    WHERE t.id = ${id} AND t.webhook_id = ${webhookId} AND ${visibleTo(who.caller)} FOR UPDATE`);
  if (!before) return null;
  if (before.state === "done" || before.state === "cancelled") return { row: before, ended: true };
  const [row] = await tx.query<ReplayRow>(sql`
    UPDATE webhook_replays AS t SET state = 'cancelled', finished_at = ${now} WHERE t.id = ${id} RETURNING ${columns}`);
  await tx.execute(sql`
    WITH dropped AS (
      DELETE FROM webhook_queue WHERE replay_id = ${id} AND NOT leased RETURNING delivery_id, created_at
    )
    UPDATE webhook_deliveries d
    SET status = 'failed', next_attempt_at = NULL, finished_at = ${now}, error_code = 'cancelled',
        error_message = 'The replay was cancelled'
    FROM dropped q WHERE d.id = q.delivery_id AND d.created_at = q.created_at AND d.status <> 'delivered'`);
  return row ? { row, ended: false } : null;
}

export type ReplayLimits = {
  /** Most deliveries of a replay queued or in flight; live deliveries keep the webhook's other slots. */
  window: number;
  /** Deliveries read in one transaction. */
  chunk: number;
  /** Milliseconds between two chunks of one replay. */
  everyMs: number;
};

/**
 * Works on one replay that is due and not leased by another process: queues as many deliveries as its window permits
 * and moves its position in the same transaction, so that a killed process leaves nothing half done. Partners are
 * served round-robin, within them organizations: many replays of one delay no other's. Returns the changed replay and
 * the number of queued deliveries; null when none is due. `onTaken` is called with the replay's id before the work on
 * it starts.
 */
export async function advanceReplay(
  tx: Tx,
  limits: ReplayLimits,
  onTaken: (id: string) => void = () => undefined,
): Promise<{ replay: ReplayRow; queued: number } | null> {
  const [replay] = await tx.query<ReplayRow>(sql`
    WITH open AS MATERIALIZED (
      SELECT r.org_id, max(r.next_chunk_at) AS last_chunk_at, max(max(r.next_chunk_at)) OVER (PARTITION BY r.partner_id) AS partner_last_chunk_at
      FROM webhook_replays r WHERE r.state IN ('queued', 'running') GROUP BY r.partner_id, r.org_id
    )
    SELECT t.* FROM (SELECT org_id FROM open ORDER BY partner_last_chunk_at, last_chunk_at OFFSET 0) AS each
    CROSS JOIN LATERAL (
      SELECT ${columns} FROM webhook_replays AS t JOIN webhooks w ON w.id = t.webhook_id AND w.deleted_at IS NULL
      WHERE t.org_id = each.org_id AND t.state IN ('queued', 'running') AND t.next_chunk_at <= now()
        AND NOT EXISTS (SELECT FROM webhook_replays o WHERE o.webhook_id = t.webhook_id AND o.state IN ('queued', 'running')
                        AND (o.created_at, o.id) < (t.created_at, t.id))
      ORDER BY t.next_chunk_at LIMIT 1 FOR UPDATE OF t SKIP LOCKED
    ) AS t
    LIMIT 1`);
  if (!replay) return null;
  onTaken(replay.id);
  const [waiting] = await tx.query<{ n: number }>(
    sql`SELECT count(*)::int AS n FROM webhook_queue WHERE replay_id = ${replay.id}`,
  );
  const room = Math.max(0, limits.window - (waiting?.n ?? 0));
  const found = replay.read_to_end || room === 0 ? [] : await nextOf(tx, replay, limits.chunk);
  const fits = takeRoom(found, room);
  const matches = fits.filter((each) => each.matches);
  const queued = matches.length === 0 ? 0 : await queueAgain(tx, replay, matches);
  const last = fits.at(-1);
  // A chunk that was not full is the last one.
  const toEnd = replay.read_to_end || (room > 0 && fits.length === found.length && found.length < limits.chunk);
  const done = toEnd && (waiting?.n ?? 0) + queued === 0;
  const [row] = await tx.query<ReplayRow>(sql`
    UPDATE webhook_replays AS t
    SET state = ${done ? "done" : "running"}, read_to_end = ${toEnd},
        finished_at = CASE WHEN ${done} THEN statement_timestamp() END,
        position_at = ${last?.created_at ?? replay.position_at}, position_id = ${last?.id ?? replay.position_id},
        queued = t.queued + ${queued}, skipped = t.skipped + ${matches.length - queued},
        next_chunk_at = statement_timestamp() + ${limits.everyMs}::int * interval '1 millisecond'
    WHERE t.id = ${replay.id} RETURNING ${columns}`);
  return row ? { replay: row, queued } : null;
}

/** Defers a replay that cannot continue now, for a minute. */
export async function postponeReplay(tx: Tx, id: string): Promise<void> {
  await tx.execute(
    sql`UPDATE webhook_replays SET next_chunk_at = statement_timestamp() + interval '1 minute' WHERE id = ${id}`,
  );
}

/** The longest prefix of these deliveries with at most `room` that can be queued. */
function takeRoom(found: readonly Found[], room: number): Found[] {
  let left = room;
  const end = found.findIndex((each) => each.has_body && left-- === 0);
  return end === -1 ? [...found] : found.slice(0, end);
}

/** Queues matches under ids of the replay's own; returns the number of those whose event it had not queued yet. */
async function queueAgain(tx: Tx, replay: ReplayRow, matches: readonly Found[]): Promise<number> {
  const byEvent = new Map(matches.filter(({ has_body: hasBody }) => hasBody).map((match) => [match.event_id, match]));
  const each = [...byEvent.values()];
  const fresh = await tx.query<{ id: string }>(sql`
    INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, origin, retry_of,
                                    next_attempt_at)
    SELECT x.id, ${replay.created_at}, ${replay.webhook_id}, ${replay.org_id}, ${replay.partner_id}, x.event_id, x.event,
           'replay', x.retry_of, statement_timestamp()
    FROM unnest(${each.map((match) => replayedId(replay.id, match.event_id))}::uuid[],
                ${each.map((match) => match.event_id)}::uuid[], ${each.map((match) => match.event)}::text[],
                ${each.map((match) => match.delivery_id)}::uuid[]) AS x (id, event_id, event, retry_of)
    ON CONFLICT DO NOTHING RETURNING id`);
  const isFresh = new Set(fresh.map(({ id }) => id));
  const added = each.filter((match) => isFresh.has(replayedId(replay.id, match.event_id)));
  if (added.length === 0) return 0;
  const eventIds = added.map((match) => match.event_id);
  await Promise.all([
    tx.execute(sql`
      INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, posted_by, listed)
      SELECT e.org_id, e.id, ${replay.created_at}, e.partner_id, e.type, e.body, e.posted_by, false
      FROM unnest(${eventIds}::uuid[], ${added.map((match) => match.created_at)}::timestamptz[]) AS x (id, occurred_at)
      JOIN webhook_events e ON e.org_id = ${replay.org_id} AND e.id = x.id AND e.occurred_at = x.occurred_at
      ON CONFLICT DO NOTHING`),
    tx.execute(sql`
      INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, replay_id, due_at)
      SELECT x.id, ${replay.created_at}, ${replay.webhook_id}, ${replay.org_id}, ${replay.partner_id}, x.event_id,
             ${replay.id}, statement_timestamp() + x.position * interval '1 microsecond'
      FROM unnest(${added.map((match) => replayedId(replay.id, match.event_id))}::uuid[], ${eventIds}::uuid[])
        WITH ORDINALITY AS x (id, event_id, position)`),
  ]);
  return added.length;
}
