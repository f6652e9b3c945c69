import { type Database, type Query, sql, type Tx } from "@muster/db";
import { conditions, named, nonEmpty } from "@muster/db/builder";
import type { CallContext, Caller, Page, SecretBox } from "@muster/kit";
import { type ListPage, readNewestPage, visibleTo } from "@muster/service";
import type { EventFilter } from "../rules/event-filter.ts";
import type { RetrySchedule } from "../rules/retry-schedule.ts";
import type { RetryPolicy } from "../rules/schedule.ts";
import { newSigningKey } from "../rules/signing-key.ts";
import type { Header, StoredStatus, WebhookFields } from "../rules/webhook.ts";
import { type HealthState, healthColumns, oldestDue } from "./health.ts";

export type WebhookRow = {
  id: string;
  org_id: string;
  partner_id: string;
  name: string;
  url_sealed: Buffer;
  url_shown: string;
  secret_sealed: Buffer | null;
  previous_secret_sealed: Buffer | null;
  previous_secret_until: Date | null;
  signing_key_sealed: Buffer | null;
  previous_signing_key_sealed: Buffer | null;
  previous_signing_key_until: Date | null;
  headers_sealed: Buffer;
  header_names: string[];
  events: string[];
  status: StoredStatus;
  retry_policy: RetryPolicy | null;
  /** Null: standard. */
  retry_schedule: RetrySchedule | null;
  filter: EventFilter | null;
  /** Null: who made it. */
  notify_user_ids: string[] | null;
  ordered: boolean;
  generation: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

export type WebhookCounters = {
  success_count: number;
  failure_count: number;
  last_delivery_at: Date | null;
  last_success_at: Date | null;
};

export const webhookColumns = sql`t.id, t.org_id, t.partner_id, t.name, t.url_sealed, t.url_shown, t.secret_sealed,
  t.previous_secret_sealed, t.previous_secret_until, t.headers_sealed, t.header_names, t.events, t.status, t.retry_policy,
  t.retry_schedule, t.ordered, t.generation, t.created_by, t.created_at, t.updated_at, t.signing_key_sealed,
  t.previous_signing_key_sealed, t.previous_signing_key_until, t.filter, t.notify_user_ids`;

const counters = sql`s.success_count, s.failure_count, s.last_delivery_at, s.last_success_at, ${healthColumns}`;

/** A webhook as lists and records show it. */
export type ShownWebhook = WebhookRow & WebhookCounters & HealthState;

/** Only system callers still see webhooks of a deleted organization. */
export function visible(caller: Caller): Query {
  return caller.scope === "system"
    ? sql`t.deleted_at IS NULL AND ${visibleTo(caller)}`
    : sql`t.deleted_at IS NULL AND t.stopped_at IS NULL AND ${visibleTo(caller)}`;
}

/** Second key of the advisory locks of organizations. */
export const webhooksOfOrganization = 7_166_340_217;

/** Locations of the sealed columns: an envelope opens in its own row and column only. */
export const sealedAt = {
  url: (id: string) => `webhooks.url/${id}`,
  secret: (id: string) => `webhooks.secret/${id}`,
  headers: (id: string) => `webhooks.headers/${id}`,
  signingKey: (id: string) => `webhooks.signing_key/${id}`,
};

/** All fields of a webhook that users set, secrets in clear. */
export function openFields(box: SecretBox, row: WebhookRow): WebhookFields {
  const { id } = row;
  return {
    name: row.name,
    url: box.open(row.url_sealed, sealedAt.url(id)).toString(),
    secret: row.secret_sealed ? box.open(row.secret_sealed, sealedAt.secret(id)).toString() : null,
    events: row.events,
    headers: JSON.parse(box.open(row.headers_sealed, sealedAt.headers(id)).toString()) as Header[],
    status: row.status,
    ordered: row.ordered,
    retrySchedule: row.retry_schedule ?? "standard",
    asymmetricSignature: row.signing_key_sealed !== null,
    filter: row.filter,
    notifyUserIds: row.notify_user_ids,
  };
}

function sealed(box: SecretBox, id: string, fields: WebhookFields) {
  const secret = fields.secret === null ? null : box.seal(Buffer.from(fields.secret), sealedAt.secret(id));
  return {
    url: box.seal(Buffer.from(fields.url), sealedAt.url(id)),
    secret,
    headers: box.seal(Buffer.from(JSON.stringify(fields.headers)), sealedAt.headers(id)),
    names: fields.headers.map(({ key }) => key),
  };
}

const storedSchedule = ({ retrySchedule }: WebhookFields) =>
  retrySchedule === "standard" ? null : JSON.stringify(retrySchedule);

function sealedKey(box: SecretBox, id: string) {
  const { privateKey, publicKey } = newSigningKey();
  return { sealed: box.seal(privateKey, sealedAt.signingKey(id)), publicKey };
}

/** Assignments of UPDATE: a new key pair, or none; nothing where it stays. The previous one goes with it. */
function signingKeyChange(box: SecretBox, { id, signing_key_sealed: held }: WebhookRow, fields: WebhookFields): Query {
  if (fields.asymmetricSignature === (held !== null)) return sql``;
  const key = fields.asymmetricSignature ? sealedKey(box, id) : null;
  return sql`signing_key_sealed = ${key?.sealed ?? null}, signing_key_public = ${key?.publicKey ?? null},
        previous_signing_key_sealed = NULL, previous_signing_key_public = NULL, previous_signing_key_until = NULL,`;
}

const storedFilter = ({ filter }: WebhookFields) => (filter === null ? null : JSON.stringify(filter));

const notified = ({ notifyUserIds: ids }: WebhookFields) => (ids === null ? null : [...ids]);

type Owner = { orgId: string; partnerId: string; createdBy: string };

/** Inserts a webhook and its state. */
export async function insertWebhook(
  tx: Tx,
  box: SecretBox,
  id: string,
  owner: Owner,
  { shownUrl, ...fields }: WebhookFields & { shownUrl: string },
  now: Date,
): Promise<WebhookRow> {
  const secrets = sealed(box, id, fields);
  const key = fields.asymmetricSignature ? sealedKey(box, id) : null;
  const rows = await tx.query<WebhookRow>(sql`
    INSERT INTO webhooks AS t (id, org_id, partner_id, name, url_sealed, url_shown, secret_sealed, headers_sealed,
                               header_names, events, status, ordered, retry_schedule, filter, notify_user_ids, signing_key_sealed,
                               signing_key_public, created_by, created_at, updated_at)
    VALUES (${id}, ${owner.orgId}, ${owner.partnerId}, ${fields.name}, ${secrets.url}, ${shownUrl}, ${secrets.secret},
            ${secrets.headers}, ${secrets.names}, ${fields.events}, ${fields.status}, ${fields.ordered},
            ${storedSchedule(fields)}::jsonb, ${storedFilter(fields)}::jsonb, ${notified(fields)}::uuid[], ${key?.sealed ?? null}, ${key?.publicKey ?? null}, ${owner.createdBy}, ${now}, ${now})
    RETURNING ${webhookColumns}`);
  await tx.execute(sql`
    INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id, slots)
    VALUES (${id}, ${owner.orgId}, ${owner.partnerId}, 32767)`);
  await tx.execute(sql`
    INSERT INTO webhook_organizations (org_id, partner_id) VALUES (${owner.orgId}, ${owner.partnerId}) ON CONFLICT DO NOTHING`);
  return only(rows);
}

/**
 * Changes of an organization's webhooks come one after the other, until the end of the transaction; before any row is
 * locked.
 */
export async function holdOrganization(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${orgId}, ${webhooksOfOrganization}::bigint))`);
}

/** As holdOrganization, for the organization of a webhook in the caller's scope. */
export async function holdOrganizationOf(tx: Tx, { caller }: CallContext, webhookId: string): Promise<void> {
  await tx.execute(sql`
    SELECT pg_advisory_xact_lock(hashtextextended(t.org_id::text, ${webhooksOfOrganization}::bigint))
    FROM webhooks AS t WHERE t.id = ${webhookId} AND ${visible(caller)}`);
}

/** How many webhooks an organization has; exact after holdOrganization (index webhooks_by_org). */
export async function countWebhooks(tx: Tx, orgId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*)::int AS n FROM webhooks WHERE org_id = ${orgId}::uuid AND deleted_at IS NULL`,
  );
  return row?.n ?? 0;
}

/**
 * Notes a test of a locked webhook; null when it may be sent, else the seconds until it may: `most` in any minute.
 * Exact over all processes, since the row is locked.
 */
export async function noteTest(tx: Tx, id: string, most: number): Promise<number | null> {
  const rows = await tx.query(sql`
    UPDATE webhooks SET tested_at = array_append(ARRAY(
      SELECT t FROM unnest(tested_at) AS t WHERE t > statement_timestamp() - interval '1 minute'), statement_timestamp())
    WHERE id = ${id} AND (SELECT count(*) FROM unnest(tested_at) AS t WHERE t > statement_timestamp() - interval '1 minute') < ${most}::int
    RETURNING id`);
  if (rows.length > 0) return null;
  const [row] = await tx.query<{ seconds: number }>(sql`
    SELECT greatest(1, ceil(60 - extract(epoch FROM statement_timestamp() - min(t))))::int AS seconds
    FROM (SELECT t FROM webhooks w, unnest(w.tested_at) AS t WHERE w.id = ${id} ORDER BY t DESC LIMIT ${most}::int) AS newest`);
  return row?.seconds ?? 60;
}

/** One webhook in the caller's scope, locked until the end of the transaction; null when there is none. */
export async function lockWebhook(tx: Tx, { caller }: CallContext, id: string): Promise<WebhookRow | null> {
  const [row] = await tx.query<WebhookRow>(
    sql`SELECT ${webhookColumns} FROM webhooks AS t WHERE t.id = ${id} AND ${visible(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** One webhook in the caller's scope, with its counters. */
export async function findWebhook(db: Database, who: CallContext, id: string): Promise<ShownWebhook | null> {
  const [row] = await db.read<ShownWebhook>(
    who,
    sql`SELECT ${webhookColumns}, ${counters}, ${oldestDue(sql`t.id`)} AS next_due_at FROM webhooks AS t JOIN webhook_endpoint_state AS s ON s.webhook_id = t.id
        WHERE t.id = ${id} AND ${visible(who.caller)}`,
  );
  return row ?? null;
}

/**
 * A page of an organization's webhooks, or of all that are visible, newest first (indexes webhooks_by_org,
 * webhooks_newest).
 */
export function listWebhooks(
  db: Database,
  who: CallContext,
  { orgId, status, search }: { orgId: string | null; status: StoredStatus | null; search: string },
  page: Page,
): Promise<ListPage<ShownWebhook>> {
  const where = conditions((rows) =>
    rows
      .where(nonEmpty({ "t.org_id": orgId, "t.status": status }))
      .modify(named, "t.name || ' ' || t.url_shown", search),
  );
  const table = sql`(SELECT w.*, ${counters} FROM webhooks w JOIN webhook_endpoint_state s ON s.webhook_id = w.id)`;
  const list = {
    table,
    columns: sql`${webhookColumns}, t.success_count, t.failure_count, t.last_delivery_at, t.last_success_at, t.open_until,
      t.open_seconds, t.failed_attempts, t.failing_since, t.failed_reason, ${oldestDue(sql`t.id`)} AS next_due_at`,
    where: sql`${visible(who.caller)} AND ${where}`,
  };
  return readNewestPage(db, who, list, page);
}

/** Writes all fields of a locked webhook. A status set to active resets failures and breaker. */
export async function updateWebhook(
  tx: Tx,
  box: SecretBox,
  stored: WebhookRow,
  { shownUrl, ...fields }: WebhookFields & { shownUrl: string },
  change: { statusSet: boolean; secretSet: boolean },
  now: Date,
): Promise<WebhookRow> {
  const secrets = sealed(box, stored.id, fields);
  const rows = await tx.query<WebhookRow>(sql`
    UPDATE webhooks AS t
    SET name = ${fields.name}, url_sealed = ${secrets.url}, url_shown = ${shownUrl}, secret_sealed = ${secrets.secret},
        previous_secret_sealed = CASE WHEN ${change.secretSet} THEN NULL ELSE previous_secret_sealed END,
        previous_secret_until = CASE WHEN ${change.secretSet} THEN NULL ELSE previous_secret_until END,
        headers_sealed = ${secrets.headers}, header_names = ${secrets.names}, events = ${fields.events},
        status = ${fields.status}, ordered = ${fields.ordered}, retry_schedule = ${storedSchedule(fields)}::jsonb,
        filter = ${storedFilter(fields)}::jsonb, notify_user_ids = ${notified(fields)}::uuid[],
        ${signingKeyChange(box, stored, fields)} generation = generation + 1, updated_at = ${now}
    WHERE t.id = ${stored.id} RETURNING ${webhookColumns}`);
  if (change.statusSet && fields.status === "active") {
    await tx.execute(sql`
      UPDATE webhook_endpoint_state
      SET failed_in_a_row = 0, failed_attempts = 0, failing_since = NULL, failed_reason = NULL, open_until = NULL, open_seconds = 0, slots = 32767,
          window_started_at = NULL, window_attempts = 0, window_deliveries = 0, window_failures = 0
      WHERE webhook_id = ${stored.id}`);
  }
  return only(rows);
}

/** A new secret for a locked webhook; the previous one signs, too, until `previousUntil`. */
export async function rotateSecret(
  tx: Tx,
  box: SecretBox,
  stored: WebhookRow,
  secret: string,
  previousUntil: Date | null,
  now: Date,
): Promise<WebhookRow> {
  const location = sealedAt.secret(stored.id);
  const rows = await tx.query<WebhookRow>(sql`
    UPDATE webhooks AS t
    SET secret_sealed = ${box.seal(Buffer.from(secret), location)},
        previous_secret_sealed = ${previousUntil === null ? null : stored.secret_sealed}, previous_secret_until = ${previousUntil},
        generation = generation + 1, updated_at = ${now}
    WHERE t.id = ${stored.id} RETURNING ${webhookColumns}`);
  return only(rows);
}

/** A new key pair for a locked webhook; the previous one signs, too, until `previousUntil`. */
export async function rotateSigningKey(
  tx: Tx,
  box: SecretBox,
  stored: WebhookRow,
  previousUntil: Date | null,
  now: Date,
): Promise<WebhookRow> {
  const key = sealedKey(box, stored.id);
  const keeps = previousUntil !== null;
  const rows = await tx.query<WebhookRow>(sql`
    UPDATE webhooks AS t
    SET signing_key_sealed = ${key.sealed}, signing_key_public = ${key.publicKey},
        previous_signing_key_sealed = CASE WHEN ${keeps} THEN t.signing_key_sealed END,
        previous_signing_key_public = CASE WHEN ${keeps} THEN t.signing_key_public END,
        previous_signing_key_until = ${previousUntil}, generation = generation + 1, updated_at = ${now}
    WHERE t.id = ${stored.id} RETURNING ${webhookColumns}`);
  return only(rows);
}

/** Hides a locked webhook and stops its queued deliveries; a job removes the rows. */
export async function markDeleted(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`UPDATE webhooks SET deleted_at = ${now}, updated_at = ${now} WHERE id = ${id}`);
}

/**
 * Stops the webhooks of a deleted organization or partner, so that nothing is matched or sent; resumes them when it is
 * restored.
 */
export async function stopWebhooksOf(
  tx: Tx,
  tenant: { kind: "partner" | "organization"; id: string; deleted: boolean },
  now: Date,
): Promise<void> {
  const of = tenant.kind === "partner" ? sql`partner_id = ${tenant.id}` : sql`org_id = ${tenant.id}`;
  const stoppedAt = tenant.deleted ? now : null;
  await tx.execute(sql`UPDATE webhooks SET stopped_at = ${stoppedAt} WHERE ${of} AND deleted_at IS NULL`);
}

export type DeliveryCounts = { pending: number; retrying: number };

/** Deliveries of a webhook that must still be sent. */
export async function queuedCounts(db: Database, who: CallContext, webhookId: string): Promise<DeliveryCounts> {
  const [row] = await db.read<DeliveryCounts>(
    who,
    sql`SELECT count(*) FILTER (WHERE NOT is_retry) AS pending, count(*) FILTER (WHERE is_retry) AS retrying
        FROM webhook_queue WHERE webhook_id = ${webhookId}`,
  );
  return row ?? { pending: 0, retrying: 0 };
}

function only(rows: WebhookRow[]): WebhookRow {
  const [row] = rows;
  if (!row) throw new Error("a webhook that was locked has gone");
  return row;
}
