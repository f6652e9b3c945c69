import { type Database, type Query, sql, type Tx } from "@muster/db";
import { before, conditions, nonEmpty, type Rows, since } from "@muster/db/builder";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import type { Answer } from "../rules/delivery-filter.ts";
import type { Poster } from "../rules/poster.ts";
import { headersOfFirst, messageIdOf } from "../rules/request.ts";
import { undelivered } from "./undelivered.ts";

export type DeliveryStatus = "pending" | "delivered" | "failed" | "retrying";

export type DeliveryRow = {
  id: string;
  created_at: Date;
  webhook_id: string;
  org_id: string;
  partner_id: string;
  event_id: string;
  event: string;
  origin: string;
  retry_of: string | null;
  status: DeliveryStatus;
  attempt: number;
  next_attempt_at: Date | null;
  delivered_at: Date | null;
  response_status: number | null;
  response_body: string | null;
  response_time_ms: number | null;
  error_code: string | null;
  error_message: string | null;
  /** The envelope; null when the partition of its day was dropped. */
  body: string | null;
  poster: Poster;
};

export type AttemptRow = {
  number: number;
  started_at: Date;
  connected_ms: number | null;
  headers_ms: number | null;
  total_ms: number | null;
  remote_address: string | null;
  reused: boolean;
  interrupted: boolean;
  possible_duplicate: boolean;
  request_headers: Record<string, string> | null;
  response_status: number | null;
  response_body: string | null;
  error_code: string | null;
  error_message: string | null;
};

/** Null while the webhook is paused, failed or stopped: its deliveries wait, and continue when it is active. */
const nextAttemptAt = sql`CASE WHEN t.next_attempt_at IS NOT NULL AND EXISTS (
    SELECT FROM webhooks w
    WHERE w.id = t.webhook_id AND w.status = 'active' AND w.stopped_at IS NULL AND w.deleted_at IS NULL
  ) THEN t.next_attempt_at END AS next_attempt_at`;

const columns = sql`t.id, t.created_at, t.webhook_id, t.org_id, t.partner_id, t.event_id, t.event, t.origin, t.retry_of,
  t.status, t.attempt, ${nextAttemptAt}, t.delivered_at, t.response_status, t.response_body, t.response_time_ms, t.error_code,
  t.error_message`;

const ofEvent = (column: Query) => sql`(SELECT ${column} FROM webhook_events e
                  WHERE e.org_id = t.org_id AND e.id = t.event_id AND e.occurred_at = t.created_at)`;
const ofEventColumns = sql`${ofEvent(sql`e.body`)} AS body, ${ofEvent(sql`e.posted_by`)} AS poster`;

export type DeliveryFilter = {
  /** Null: of every webhook of the table `ofEvent`. */
  webhookId: string | null;
  /** The deliveries of one event (`deliveriesOfEvent`); null: of any. */
  ofEvent: Query | null;
  status: DeliveryStatus | null;
  event: string | null;
  from: Date | null;
  to: Date | null;
  answer: Answer | null;
};

const chosen = (filter: DeliveryFilter): Query =>
  conditions((rows) =>
    rows
      .where(nonEmpty({ "t.webhook_id": filter.webhookId, "t.status": filter.status, "t.event": filter.event }))
      .modify(since, "t.created_at", filter.from)
      .modify(before, "t.created_at", filter.to)
      .modify(answeredWith, filter.answer),
  );

function answeredWith(rows: Rows, answer: Answer | null): void {
  if (answer === "none") rows.whereNull("t.response_status").where("t.attempt", ">", 0);
  else if (answer !== null) rows.whereBetween("t.response_status", [answer.from, answer.to]);
}

/** Whether no delivery that was delivered meets the filter: its receiver answered with 2xx. */
function leavesOutDelivered({ status, answer }: DeliveryFilter): boolean {
  if (status !== null) return status !== "delivered";
  return answer === "none" || (answer !== null && (answer.from > 299 || answer.to < 200));
}

/**
 * A page of one webhook's or one event's deliveries, newest first (index webhook_deliveries_by_webhook, `undelivered`
 * or `deliveriesOfEvent`).
 */
export async function listDeliveries(
  db: Database,
  who: CallContext,
  filter: DeliveryFilter,
  page: Page,
): Promise<ListPage<DeliveryRow>> {
  const table = filter.ofEvent ?? (await fewerOf(db, who, filter)) ?? sql`webhook_deliveries`;
  const list = { table, columns: sql`${columns}, ${ofEventColumns}`, where: chosen(filter) };
  return readNewestPage<DeliveryRow>(db, who, list, page);
}

async function fewerOf(db: Database, who: CallContext, filter: DeliveryFilter): Promise<Query | null> {
  if (filter.webhookId === null) throw new Error("deliveries are listed by webhook or by event");
  return leavesOutDelivered(filter) ? undelivered(db, who, filter.webhookId) : null;
}

/** One delivery of a webhook, or null. */
export async function findDelivery(
  db: Database,
  who: CallContext,
  webhookId: string,
  id: string,
): Promise<DeliveryRow | null> {
  const [row] = await db.read<DeliveryRow>(who, one(who, webhookId, id, sql``));
  return row ?? null;
}

/** As findDelivery, locked until the end of the transaction. */
export async function lockDelivery(
  tx: Tx,
  who: CallContext,
  webhookId: string,
  id: string,
): Promise<DeliveryRow | null> {
  const [row] = await tx.query<DeliveryRow>(one(who, webhookId, id, sql`FOR UPDATE OF t`));
  return row ?? null;
}

function one({ caller }: CallContext, webhookId: string, id: string, lock: Query): Query {
  return sql`SELECT ${columns}, ${ofEventColumns} FROM webhook_deliveries AS t
             WHERE t.id = ${id} AND t.webhook_id = ${webhookId} AND ${visibleTo(caller)} ${lock}`;
}

/** Attempts of a delivery in their order; an only attempt may be stored in the row of the delivery itself. */
export async function listAttempts(db: Database, who: CallContext, delivery: DeliveryRow): Promise<AttemptRow[]> {
  const { id, created_at: createdAt } = delivery;
  const rows = await db.read<AttemptRow & { headers: string | null }>(
    who,
    sql`SELECT number, started_at, connected_ms, headers_ms, total_ms, remote_address, reused, interrupted,
               possible_duplicate, request_headers, response_status, response_body, error_code, error_message,
               NULL AS headers
        FROM webhook_attempts WHERE delivery_id = ${id} AND created_at = ${createdAt}
        UNION ALL
        SELECT 1, sole_started_at, sole_connected_ms, sole_headers_ms, response_time_ms, sole_remote_address,
               sole_reused, false, false, NULL, response_status, response_body, error_code, error_message, sole_headers
        FROM webhook_deliveries WHERE id = ${id} AND created_at = ${createdAt} AND sole_headers IS NOT NULL
          -- Its sender received no answer to COMMIT, and stored the outcome again.
          AND NOT EXISTS (SELECT FROM webhook_attempts WHERE delivery_id = ${id} AND created_at = ${createdAt})
        ORDER BY number`,
  );
  const { webhook_id: webhookId, event_id: eventId, event: eventType } = delivery;
  const about = { messageId: messageIdOf(webhookId, eventId), deliveryId: id, eventId, eventType };
  return rows.map(({ headers: beside, ...row }) =>
    beside === null
      ? row
      : { ...row, request_headers: headersOfFirst({ ...about, startedAt: row.started_at, beside }) },
  );
}

export type NewDelivery = {
  id: string;
  webhookId: string;
  orgId: string;
  partnerId: string;
  eventId: string;
  event: string;
  body: string;
  poster: Poster;
  origin: "test" | "retry" | "resend";
  retryOf: string | null;
  /** Of the request that asks for it: the attempt belongs to its trace. */
  traceparent: string | null;
};

/** Queues a single delivery, with a payload of its own in the partition of `now`. */
export async function insertDelivery(tx: Tx, delivery: NewDelivery, now: Date): Promise<DeliveryRow> {
  const { id, webhookId, orgId, partnerId, eventId, event, origin, retryOf } = delivery;
  await tx.execute(sql`
    INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body, posted_by, traceparent, listed)
    VALUES (${orgId}, ${eventId}, ${now}, ${partnerId}, ${event}, ${delivery.body}, ${delivery.poster}, ${delivery.traceparent}, false)
    ON CONFLICT DO NOTHING`);
  const [row] = await tx.query<DeliveryRow>(sql`
    INSERT INTO webhook_deliveries AS t (id, created_at, webhook_id, org_id, partner_id, event_id, event, origin, retry_of,
                                         next_attempt_at)
    VALUES (${id}, ${now}, ${webhookId}, ${orgId}, ${partnerId}, ${eventId}, ${event}, ${origin}, ${retryOf}, ${now})
    RETURNING ${columns}, ${delivery.body}::text AS body, ${delivery.poster}::text AS poster`);
  await tx.execute(sql`
    INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
    VALUES (${id}, ${now}, ${webhookId}, ${orgId}, ${partnerId}, ${eventId}, statement_timestamp())`);
  if (!row) throw new Error("a delivery that was inserted did not come back");
  return row;
}

export type DeadLetterRow = {
  id: string;
  org_id: string;
  partner_id: string;
  webhook_id: string;
  delivery_id: string;
  event: string;
  event_id: string;
  reason: string;
  attempts: number;
  created_at: Date;
  requeued_at: Date | null;
};

const letterColumns = sql`t.id, t.org_id, t.partner_id, t.webhook_id, t.delivery_id, t.event, t.event_id, t.reason,
  t.attempts, t.created_at, t.requeued_at`;

/** A page of visible dead letters, newest first (indexes webhook_dead_letters_by_org, _by_partner, _newest). */
export function listDeadLetters(
  db: Database,
  who: CallContext,
  { orgId, webhookId }: { orgId: string | null; webhookId: string | null },
  page: Page,
): Promise<ListPage<DeadLetterRow>> {
  // Dead letters of a deleted organization are hidden with its webhooks, except for system callers.
  const isThere =
    who.caller.scope === "system"
      ? sql`true`
      : sql`EXISTS (SELECT FROM webhooks w WHERE w.id = t.webhook_id AND w.stopped_at IS NULL AND w.deleted_at IS NULL)`;
  const where = conditions((rows) => rows.where(nonEmpty({ "t.org_id": orgId, "t.webhook_id": webhookId })));
  const list = { table: sql`webhook_dead_letters`, columns: letterColumns, where: sql`${where} AND ${isThere}` };
  return readNewestPage(db, who, list, page);
}

/** The webhook of a dead letter, requeued or not; null when the caller's scope has no such letter. */
export async function webhookOfDeadLetter(tx: Tx, { caller }: CallContext, id: string): Promise<string | null> {
  const [row] = await tx.query<{ webhook_id: string }>(sql`
    SELECT t.webhook_id FROM webhook_dead_letters AS t WHERE t.id = ${id} AND ${visibleTo(caller)}`);
  return row?.webhook_id ?? null;
}

/** Marks a dead letter as requeued and returns it; null when there is none that was not requeued. */
export async function takeDeadLetter(
  tx: Tx,
  { caller }: CallContext,
  id: string,
  now: Date,
): Promise<DeadLetterRow | null> {
  const [row] = await tx.query<DeadLetterRow>(sql`
    UPDATE webhook_dead_letters AS t SET requeued_at = ${now}
    WHERE t.id = ${id} AND t.requeued_at IS NULL AND ${visibleTo(caller)} RETURNING ${letterColumns}`);
  return row ?? null;
}
