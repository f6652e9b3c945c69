import { byIndexAlone, type Database, type Query, sql, type Tx, type Who } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { ofOrganization, visibleTo } from "@muster/service";
import type { Bucket } from "../rules/bucket.ts";
import type { StreamStatus, StreamType } from "../rules/stream.ts";
import type { StreamFacts } from "../rules/stream-health.ts";
import type { Envelope, StreamFormat } from "../rules/stream-sink.ts";
import type { SentBatch } from "../rules/syslog.ts";

export type StreamRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  type: StreamType;
  url_sealed: Buffer | null;
  url_shown: string | null;
  secret_sealed: Buffer | null;
  format: StreamFormat;
  /** Of type https alone. */
  envelope: Envelope | null;
  headers_sealed: Buffer | null;
  header_keys: string[];
  /** Of type s3 alone. */
  bucket: Bucket | null;
  bucket_secret_sealed: Buffer | null;
  /** PEM of the authority of the sink's certificate; null: the system's. */
  ca: string | null;
  /** Of type syslog: what was sent within the last minute. */
  recent: SentBatch[];
  status: StreamStatus;
  cursor_seq: number;
  batch_to: number | null;
  is_doubtful: boolean;
  rows_sent: number;
  failures: number;
  failing_since: Date | null;
  last_error: string | null;
  last_error_at: Date | null;
  last_success_at: Date | null;
  next_attempt_at: Date;
  fence: number;
  created_by: string;
  created_at: Date;
};

/** Position of a stream in its chain. */
export type StreamLag = { head_seq: number; lag_seconds: number };

const columns = sql`t.id, t.org_id, t.partner_id, t.name, t.type, t.url_sealed, t.url_shown, t.secret_sealed, t.format,
  t.envelope, t.headers_sealed, t.header_keys, t.bucket, t.bucket_secret_sealed, t.ca, t.recent, t.status,
  t.cursor_seq, t.batch_to, t.is_doubtful, t.rows_sent, t.failures, t.failing_since, t.last_error, t.last_error_at,
  t.last_success_at, t.next_attempt_at, t.fence, t.created_by, t.created_at`;

// The head and the oldest row beyond the cursor: primary keys of chain_head and audit_log.
const lag = sql`coalesce((SELECT h.seq FROM chain_head h WHERE h.chain_id = t.org_id), 0) AS head_seq,
  coalesce((SELECT greatest(0, extract(epoch FROM now() - l.timestamp)) FROM audit_log l
            WHERE l.chain_id = t.org_id AND l.seq > t.cursor_seq ORDER BY l.seq LIMIT 1), 0)::float8 AS lag_seconds`;

export type NewStream = Pick<
  StreamRow,
  | "id"
  | "org_id"
  | "partner_id"
  | "name"
  | "type"
  | "url_sealed"
  | "url_shown"
  | "secret_sealed"
  | "format"
  | "envelope"
  | "headers_sealed"
  | "header_keys"
  | "bucket"
  | "bucket_secret_sealed"
  | "ca"
  | "created_by"
> & { fromStart: boolean };

/** Inserts a stream that begins at the first kept row or after the last one; null when the organization has enough. */
export async function insertStream(
  tx: Tx,
  stream: NewStream,
  most: number,
  now: Date,
): Promise<(StreamRow & StreamLag) | null> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`audit streams ${stream.org_id}`}, 0))`);
  const start = stream.fromStart ? sql`base_seq` : sql`seq`;
  const made = await tx.execute(sql`
    INSERT INTO audit_streams (id, org_id, partner_id, name, type, url_sealed, url_shown, secret_sealed, format, envelope,
                               headers_sealed, header_keys, bucket, bucket_secret_sealed, ca, cursor_seq, created_by, created_at, updated_at)
    SELECT ${stream.id}, ${stream.org_id}, ${stream.partner_id}, ${stream.name}, ${stream.type}, ${stream.url_sealed},
           ${stream.url_shown}, ${stream.secret_sealed}, ${stream.format}, ${stream.envelope}, ${stream.headers_sealed},
           ${stream.header_keys}::text[], ${stream.bucket && JSON.stringify(stream.bucket)}::text::jsonb,
           ${stream.bucket_secret_sealed}, ${stream.ca},
           coalesce((SELECT ${start} FROM chain_head WHERE chain_id = ${stream.org_id}), 0), ${stream.created_by}, ${now}, ${now}
    WHERE (SELECT count(*) FROM audit_streams s WHERE s.org_id = ${stream.org_id}) < ${most}`);
  return made === 0 ? null : one(tx, sql`t.id = ${stream.id}`);
}

async function one(tx: Tx, where: Query): Promise<(StreamRow & StreamLag) | null> {
  const [row] = await tx.query<StreamRow & StreamLag>(
    sql`SELECT ${columns}, ${lag} FROM audit_streams AS t WHERE ${where}`,
  );
  return row ?? null;
}

/** Streams of one organization, newest first (index audit_streams_by_org). */
export function listStreams(db: Database, who: Who, orgId: string): Promise<(StreamRow & StreamLag)[]> {
  return db.read(
    who,
    sql`SELECT ${columns}, ${lag} FROM audit_streams AS t WHERE t.org_id = ${orgId} ORDER BY t.created_at DESC, t.id DESC`,
  );
}

/** Columns that the attention to a stream follows from. */
export type FailingStream = Pick<
  StreamRow,
  | "id"
  | "org_id"
  | "partner_id"
  | "name"
  | "status"
  | "failures"
  | "failing_since"
  | "last_error"
  | "last_error_at"
  | "created_at"
>;

/**
 * Streams in the caller's access scope that failed since their last success, newest first (index
 * audit_streams_failing); those of deleted organizations are left out.
 */
export function failingStreams(
  tx: Tx,
  { caller }: CallContext,
  orgId: string | null,
  most: number,
): Promise<FailingStream[]> {
  return tx.query<FailingStream>(sql`
    SELECT t.id, t.org_id, t.partner_id, t.name, t.status, t.failures, t.failing_since, t.last_error, t.last_error_at,
           t.created_at
    FROM audit_streams AS t
    WHERE (t.status = 'failed' OR (t.status = 'active' AND t.failures > 0)) AND ${visibleTo(caller)}
      AND ${ofOrganization(orgId)}
      AND NOT EXISTS (SELECT FROM tenant n WHERE n.kind = 'organization' AND n.id = t.org_id AND n.deleted)
    ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`);
}

/** One stream that row-level security shows to the caller; null when there is none. */
export async function findStream(db: Database, who: Who, id: string): Promise<(StreamRow & StreamLag) | null> {
  const [row] = await db.read<StreamRow & StreamLag>(
    who,
    sql`SELECT ${columns}, ${lag} FROM audit_streams AS t WHERE t.id = ${id}`,
  );
  return row ?? null;
}

/** Pauses a stream or resumes it at once; a process that is sending for it loses its lease. */
export async function setStreamStatus(
  tx: Tx,
  id: string,
  status: "active" | "paused",
  now: Date,
): Promise<(StreamRow & StreamLag) | null> {
  await tx.execute(sql`
    UPDATE audit_streams SET status = ${status}, failures = 0, failing_since = NULL, next_attempt_at = now(),
      is_doubtful = is_doubtful OR leased_until IS NOT NULL, leased_until = NULL, fence = fence + 1, updated_at = ${now}
    WHERE id = ${id}`);
  return one(tx, sql`t.id = ${id}`);
}

export function lockStream(tx: Tx, id: string): Promise<(StreamRow & StreamLag) | null> {
  return one(tx, sql`t.id = ${id} FOR UPDATE`);
}

export async function removeStream(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM audit_streams WHERE id = ${id}`);
}

/** Whether there is a stream that could be claimed at some time. */
export async function isAnyStreamActive(tx: Tx): Promise<boolean> {
  return (await tx.query(sql`SELECT id FROM audit_streams WHERE status = 'active' LIMIT 1`)).length > 0;
}

/**
 * Leases a stream that is due and has rows to send, for `leaseMs`, but none of the partners named; one whose holder
 * stopped responding is in doubt. Null when there is none.
 */
export async function claimStream(tx: Tx, leaseMs: number, without: readonly string[]): Promise<StreamRow | null> {
  // Streams are read in the order of their index, each with its conditions, until one meets them (OFFSET): behind
  // row-level security the planner would join and sort all that are due for each claim.
  const inOrder = byIndexAlone(tx);
  const claimed = tx.query<StreamRow>(sql`
    UPDATE audit_streams AS t
    SET fence = t.fence + 1, is_doubtful = t.is_doubtful OR t.leased_until IS NOT NULL,
        leased_until = now() + ${leaseMs}::int * interval '1 millisecond'
    WHERE t.id = (
      SELECT s.id FROM audit_streams s
      WHERE s.status = 'active' AND s.next_attempt_at <= now() AND (s.leased_until IS NULL OR s.leased_until <= now())
        AND s.partner_id <> ALL (${without}::uuid[])
        AND EXISTS (SELECT FROM chain_head h WHERE h.chain_id = s.org_id AND h.seq > s.cursor_seq OFFSET 0)
        -- Nothing flows for who is gone.
        AND NOT EXISTS (SELECT FROM tenant x WHERE x.deleted AND x.id IN (s.org_id, s.partner_id) OFFSET 0)
        -- One at a time of an organization: receivers that hang are its own trouble.
        AND NOT EXISTS (SELECT FROM audit_streams o
                        WHERE o.org_id = s.org_id AND o.id <> s.id AND o.leased_until > now() OFFSET 0)
      ORDER BY s.next_attempt_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED)
    RETURNING ${columns}`);
  const [, [row]] = await Promise.all([inOrder, claimed]);
  return row ?? null;
}

/** Records which rows are about to be sent; false when the lease was lost. */
export async function beginBatch(tx: Tx, { id, fence }: StreamRow, batchTo: number): Promise<boolean> {
  return (
    (await tx.execute(sql`UPDATE audit_streams SET batch_to = ${batchTo} WHERE id = ${id} AND fence = ${fence}`)) === 1
  );
}

/** Moves a stream past rows that were accepted, or that were pruned; it is due again at once. */
export async function settleTaken(tx: Tx, { id, fence, recent }: StreamRow, seq: number, sent: number): Promise<void> {
  await tx.execute(sql`
    UPDATE audit_streams
    SET cursor_seq = ${seq}, recent = ${JSON.stringify(recent)}::text::jsonb, batch_to = NULL, is_doubtful = false, rows_sent = rows_sent + ${sent}, failures = 0,
        failing_since = NULL, last_success_at = CASE WHEN ${sent} > 0 THEN now() ELSE last_success_at END,
        next_attempt_at = now(), leased_until = NULL
    WHERE id = ${id} AND fence = ${fence}`);
}

/** Releases a stream whose batch was not sent: it is due again in a second, and nothing has failed. */
export async function settleUnsent(tx: Tx, { id, fence }: StreamRow): Promise<void> {
  await tx.execute(sql`
    UPDATE audit_streams SET next_attempt_at = now() + interval '1 second', leased_until = NULL
    WHERE id = ${id} AND fence = ${fence}`);
}

/** Puts a stream back behind an earlier row: what was sent since comes again. */
export async function rewindStream(tx: Tx, { id, fence }: StreamRow, seq: number): Promise<void> {
  await tx.execute(sql`
    UPDATE audit_streams SET cursor_seq = ${seq}, recent = '[]', batch_to = NULL, is_doubtful = true
    WHERE id = ${id} AND fence = ${fence}`);
}

export type Refusal = { error: string; delayMs: number; isDoubtful: boolean; fails: boolean };

/** Schedules the next attempt, or stops the stream until a user resumes it; false when the lease was lost. */
export async function settleRefused(tx: Tx, { id, fence }: StreamRow, refusal: Refusal): Promise<boolean> {
  const { error, delayMs, isDoubtful, fails } = refusal;
  const rows = await tx.execute(sql`
    UPDATE audit_streams
    SET failures = failures + 1, failing_since = coalesce(failing_since, now()), last_error = ${error.slice(0, 500)},
        last_error_at = now(), is_doubtful = is_doubtful OR ${isDoubtful}, leased_until = NULL,
        status = CASE WHEN ${fails} THEN 'failed' ELSE status END,
        next_attempt_at = now() + ${delayMs}::int * interval '1 millisecond'
    WHERE id = ${id} AND fence = ${fence}`);
  return rows === 1;
}

/** What the health of a stream and its lag follow from. */
type MeasuredStream = StreamFacts & StreamLag & Pick<StreamRow, "cursor_seq">;

/** All streams but those of deleted organizations. */
export function measuredStreams(db: Database, who: Who): Promise<MeasuredStream[]> {
  return db.read<MeasuredStream>(
    who,
    sql`SELECT t.status, t.failures, t.failing_since, t.last_error, t.cursor_seq, ${lag} FROM audit_streams AS t
        WHERE NOT EXISTS (SELECT FROM tenant n WHERE n.kind = 'organization' AND n.id = t.org_id AND n.deleted)`,
  );
}
