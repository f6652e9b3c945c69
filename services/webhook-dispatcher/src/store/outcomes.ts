import { plainArray, sql, type Tx } from "@muster/db";
import { headersBeside, maskedHeaders, type SentHeaders } from "../rules/request.ts";
import { isDayKept } from "./days.ts";
import type { Claimed } from "./queue.ts";

/** The outcome of one attempt, and the delivery's state after it. */
export type Outcome = {
  claim: Claimed;
  event: string;
  /** `retrying` carries how long to wait from now. */
  next: { status: "delivered" } | { status: "failed" } | { status: "retrying"; delayMs: number };
  failures: number;
  /** Counts against the webhook's breaker: transport errors, time-outs, 5xx. */
  breaks: boolean;
  /** The receiver answered 410 Gone: it never accepts deliveries again. */
  gone: boolean;
  attempt: {
    startedAt: Date;
    connectedMs: number | null;
    headersMs: number | null;
    totalMs: number;
    remoteAddress: string | null;
    reused: boolean;
    possibleDuplicate: boolean;
    headers: SentHeaders;
    status: number | null;
    body: string | null;
    errorCode: string | null;
    errorMessage: string | null;
  };
};

type Settled = { id: string; attempt: number };

/**
 * The headers of an only attempt, as the row of its delivery stores them: of a first attempt that was delivered while
 * no other attempt had started. Null when the attempt needs its own row.
 */
export function soleHeaders({ claim, next, attempt }: Outcome, started: number | undefined): string | null {
  const isSole = next.status === "delivered" && claim.attempt === 1 && started === 1 && !attempt.possibleDuplicate;
  return isSole ? headersBeside(attempt.headers) : null;
}

/**
 * Settles the queue rows: finished ones are deleted, others get a new due time. Returns the deliveries with an outcome
 * that counts, each with the number of started attempts: a late failure of a lease that was taken over does not count;
 * a late delivery always does, once.
 */
export async function settleQueue(tx: Tx, outcomes: readonly Outcome[]): Promise<Map<string, number>> {
  const of = (status: Outcome["next"]["status"]) => outcomes.filter(({ next }) => next.status === status);
  const delivered = of("delivered");
  const failed = of("failed");
  const retrying = of("retrying");
  const settled = await Promise.all([
    delivered.length === 0
      ? []
      : tx.query<Settled>(sql`
          DELETE FROM webhook_queue WHERE delivery_id = ANY (${plainArray(delivered.map(({ claim }) => claim.delivery_id))}::uuid[])
          RETURNING delivery_id AS id, attempt`),
    failed.length === 0
      ? []
      : tx.query<Settled>(sql`
          DELETE FROM webhook_queue q
          USING unnest(${plainArray(failed.map(({ claim }) => claim.delivery_id))}::uuid[],
                       ${plainArray(failed.map(({ claim }) => claim.attempt))}::smallint[]) AS x (id, attempt)
          WHERE q.delivery_id = x.id AND q.attempt = x.attempt RETURNING q.delivery_id AS id, q.attempt`),
    retrying.length === 0
      ? []
      : tx.query<Settled>(sql`
          UPDATE webhook_queue q
          SET due_at = statement_timestamp() + x.delay_ms * interval '1 millisecond', leased = false, is_retry = true,
              failures = x.failures
          FROM unnest(${plainArray(retrying.map(({ claim }) => claim.delivery_id))}::uuid[],
                      ${plainArray(retrying.map(({ claim }) => claim.attempt))}::smallint[],
                      ${plainArray(retrying.map(({ next }) => ("delayMs" in next ? next.delayMs : 0)))}::int[],
                      ${plainArray(retrying.map(({ failures }) => failures))}::smallint[]) AS x (id, attempt, delay_ms, failures)
          WHERE q.delivery_id = x.id AND q.attempt = x.attempt RETURNING q.delivery_id AS id, q.attempt`),
  ]);
  return new Map(settled.flat().map(({ id, attempt }) => [id, attempt]));
}

/**
 * Appends the attempts to their deliveries' timelines, if their day still has its tables; one recorded as interrupted
 * is completed.
 */
export async function insertAttempts(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const column = <T>(of: (outcome: Outcome) => T) => outcomes.map(of);
  await tx.execute(sql`
    INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at, connected_ms, headers_ms,
      total_ms, remote_address, reused, possible_duplicate, request_headers, response_status, response_body, error_code,
      error_message)
    SELECT * FROM unnest(
      ${plainArray(column(({ claim }) => claim.delivery_id))}::uuid[], ${plainArray(column(({ claim }) => claim.created_at))}::timestamptz[],
      ${plainArray(column(({ claim }) => claim.attempt))}::smallint[], ${plainArray(column(({ claim }) => claim.org_id))}::uuid[],
      ${plainArray(column(({ claim }) => claim.partner_id))}::uuid[], ${plainArray(column(({ attempt }) => attempt.startedAt))}::timestamptz[],
      ${plainArray(column(({ attempt }) => attempt.connectedMs))}::int[], ${plainArray(column(({ attempt }) => attempt.headersMs))}::int[],
      ${plainArray(column(({ attempt }) => attempt.totalMs))}::int[], ${column(({ attempt }) => attempt.remoteAddress)}::text[],
      ${plainArray(column(({ attempt }) => attempt.reused))}::boolean[],
      ${plainArray(column(({ attempt }) => attempt.possibleDuplicate))}::boolean[],
      ${column(({ attempt }) => JSON.stringify(maskedHeaders(attempt.headers)))}::jsonb[], ${plainArray(column(({ attempt }) => attempt.status))}::smallint[],
      ${column(({ attempt }) => attempt.body)}::text[], ${column(({ attempt }) => attempt.errorCode)}::text[],
      ${column(({ attempt }) => attempt.errorMessage)}::text[]) AS x (delivery_id, created_at)
    WHERE ${isDayKept(sql`x.created_at`)}
    ON CONFLICT (delivery_id, created_at, number) DO UPDATE
    SET interrupted = false, started_at = excluded.started_at, connected_ms = excluded.connected_ms,
        headers_ms = excluded.headers_ms, total_ms = excluded.total_ms, remote_address = excluded.remote_address,
        reused = excluded.reused, possible_duplicate = excluded.possible_duplicate,
        request_headers = excluded.request_headers, response_status = excluded.response_status,
        response_body = excluded.response_body, error_code = excluded.error_code, error_message = excluded.error_message`);
}

/**
 * Writes the states of the deliveries, with the only attempt of those that `sole` has headers of; `delivered` wins over
 * any later outcome.
 */
export async function updateDeliveries(
  tx: Tx,
  outcomes: readonly Outcome[],
  sole: ReadonlyMap<Outcome, string>,
): Promise<void> {
  const column = <T>(of: (outcome: Outcome) => T) => outcomes.map(of);
  const ofSole = <T>(of: (attempt: Outcome["attempt"]) => T) =>
    outcomes.map((outcome) => (sole.has(outcome) ? of(outcome.attempt) : null));
  const times = column(({ claim }) => claim.created_at.getTime());
  const ids = plainArray(column(({ claim }) => claim.delivery_id));
  // The planner assumes that hardly any row meets a condition of row-level security: it would read all deliveries of
  // that time, which it estimates as one, and compare each with each outcome: 80 ms per batch at 2,500 a second. A plan
  // per batch takes twice as long as its execution. A plan for all days may date from the first hour of a day, whose
  // table was empty: these settings leave it only the key's index.
  const planned = tx.execute(sql`
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_nestloop', 'off', true),
           set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`);
  const updated = tx.execute(sql`
    UPDATE webhook_deliveries d
    SET status = x.status, attempt = greatest(d.attempt, x.attempt),
        next_attempt_at = CASE WHEN x.delay_ms IS NULL THEN NULL
                               ELSE statement_timestamp() + x.delay_ms * interval '1 millisecond' END,
        delivered_at = CASE WHEN x.status = 'delivered' THEN statement_timestamp() END,
        finished_at = CASE WHEN x.status <> 'retrying' THEN statement_timestamp() END,
        response_status = x.response_status, response_body = x.response_body, response_time_ms = x.response_time_ms,
        error_code = x.error_code, error_message = x.error_message, sole_started_at = x.started_at,
        sole_connected_ms = x.connected_ms, sole_headers_ms = x.headers_ms, sole_remote_address = x.remote_address,
        sole_reused = x.reused, sole_headers = x.headers
    FROM unnest(
      ${ids}::uuid[], ${plainArray(column(({ claim }) => claim.created_at))}::timestamptz[],
      ${column(({ next }) => next.status)}::text[], ${plainArray(column(({ claim }) => claim.attempt))}::smallint[],
      ${plainArray(column(({ next }) => ("delayMs" in next ? next.delayMs : null)))}::int[],
      ${plainArray(column(({ attempt }) => attempt.status))}::smallint[], ${column(({ attempt }) => attempt.body)}::text[],
      ${plainArray(column(({ attempt }) => attempt.totalMs))}::int[], ${column(({ attempt }) => attempt.errorCode)}::text[],
      ${column(({ attempt }) => attempt.errorMessage)}::text[], ${plainArray(ofSole(({ startedAt }) => startedAt))}::timestamptz[],
      ${plainArray(ofSole(({ connectedMs }) => connectedMs))}::int[], ${plainArray(ofSole(({ headersMs }) => headersMs))}::int[],
      ${ofSole(({ remoteAddress }) => remoteAddress)}::text[], ${plainArray(ofSole(({ reused }) => reused))}::boolean[],
      ${column((outcome) => sole.get(outcome) ?? null)}::text[])
      AS x (id, created_at, status, attempt, delay_ms, response_status, response_body, response_time_ms, error_code,
            error_message, started_at, connected_ms, headers_ms, remote_address, reused, headers)
    WHERE d.id = x.id AND d.created_at = x.created_at AND d.status <> 'delivered'
      -- For the planner: found by the key, or else by the time, and days outside are not read.
      AND d.id = ANY (${ids}::uuid[])
      AND d.created_at BETWEEN ${new Date(Math.min(...times))} AND ${new Date(Math.max(...times))}`);
  await Promise.all([planned, updated]);
}

export async function insertDeadLetters(tx: Tx, failed: readonly (Outcome & { letterId: string })[]): Promise<void> {
  const column = <T>(of: (outcome: Outcome & { letterId: string }) => T) => failed.map(of);
  await tx.execute(sql`
    INSERT INTO webhook_dead_letters (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event, event_id,
                                      reason, attempts, created_at)
    SELECT *, statement_timestamp() FROM unnest(
      ${plainArray(column(({ letterId }) => letterId))}::uuid[], ${plainArray(column(({ claim }) => claim.org_id))}::uuid[],
      ${plainArray(column(({ claim }) => claim.partner_id))}::uuid[], ${plainArray(column(({ claim }) => claim.webhook_id))}::uuid[],
      ${plainArray(column(({ claim }) => claim.delivery_id))}::uuid[], ${plainArray(column(({ claim }) => claim.created_at))}::timestamptz[],
      ${column(({ event }) => event)}::text[], ${plainArray(column(({ claim }) => claim.event_id))}::uuid[],
      ${column(({ attempt }) => attempt.errorMessage ?? `Status ${attempt.status}`)}::text[],
      ${plainArray(column(({ claim }) => claim.attempt))}::smallint[])
    ON CONFLICT DO NOTHING`);
}
