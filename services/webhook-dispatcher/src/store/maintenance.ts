import { sql, type Tx } from "@muster/db";

/** Creates the missing partitions of `past` days before today and `ahead` days after it; returns their number. */
export async function ensureDays(tx: Tx, past: number, ahead: number): Promise<number> {
  const today = sql`(now() AT TIME ZONE 'UTC')::date`;
  const [row] = await tx.query<{ made: number }>(sql`
    SELECT ensure_webhook_days(${today} - ${past}::int, ${today} + ${ahead}::int) AS made`);
  return row?.made ?? 0;
}

/** Drops a few partitions of days past the retention; returns their number. */
export async function dropDays(tx: Tx, retentionDays: number, most: number): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    SELECT drop_webhook_days((now() AT TIME ZONE 'UTC')::date - ${retentionDays}::int, ${most}::int) AS dropped`);
  return row?.dropped ?? 0;
}

/** Removes some keys of events, dead letters and queue rows that are past their retention; returns their number. */
export async function removeExpired(tx: Tx, retentionDays: number, most: number): Promise<number> {
  const before = sql`now() - ${retentionDays + 1}::int * interval '1 day'`;
  const removed = await Promise.all([
    tx.execute(sql`DELETE FROM webhook_event_keys WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM webhook_event_keys WHERE occurred_at < ${before} LIMIT ${most}::int))`),
    tx.execute(sql`DELETE FROM webhook_dead_letters WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM webhook_dead_letters WHERE created_at < ${before} LIMIT ${most}::int))`),
    tx.execute(sql`DELETE FROM webhook_replays WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM webhook_replays WHERE created_at < ${before} LIMIT ${most}::int))`),
    tx.execute(sql`DELETE FROM webhook_queue WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM webhook_queue WHERE created_at < ${before} LIMIT ${most}::int))`),
  ]);
  return removed.reduce((sum, n) => sum + n, 0);
}

/** Deletes secrets and keys that no longer sign; returns their number. */
export async function removePreviousSecrets(tx: Tx): Promise<number> {
  const removed = await Promise.all([
    tx.execute(sql`
      UPDATE webhooks SET previous_secret_sealed = NULL, previous_secret_until = NULL
      WHERE previous_secret_until < now()`),
    tx.execute(sql`
      UPDATE webhooks
      SET previous_signing_key_sealed = NULL, previous_signing_key_public = NULL, previous_signing_key_until = NULL
      WHERE previous_signing_key_until < now()`),
  ]);
  return removed.reduce((sum, n) => sum + n, 0);
}

/** Whether rows of a deleted webhook remain. Reads only. */
export async function isAnyDeleted(tx: Tx): Promise<boolean> {
  return (await tx.query(sql`SELECT FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1`)).length > 0;
}

/** The id of a deleted webhook that no other process works on, locked; null when there is none. */
export async function takeDeletedWebhook(tx: Tx): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(sql`
    SELECT id FROM webhooks w WHERE deleted_at IS NOT NULL
      AND (deleted_at < now() - interval '1 minute' OR EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id)
           OR EXISTS (SELECT FROM webhook_queue q WHERE q.webhook_id = w.id))
    ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
  return row?.id ?? null;
}

/** Removes some deliveries of a deleted webhook with all their rows; returns their number. */
export async function removeDeliveries(tx: Tx, webhookId: string, most: number): Promise<number> {
  const gone = await tx.query<{ id: string; created_at: Date }>(sql`
    SELECT id, created_at FROM webhook_deliveries WHERE webhook_id = ${webhookId}
    ORDER BY created_at DESC, id DESC LIMIT ${most}::int`);
  const ids = gone.map(({ id }) => id);
  const times = gone.map((row) => row.created_at);
  const keys = sql`unnest(${ids}::uuid[], ${times}::timestamptz[]) AS x (id, created_at)`;
  await Promise.all([
    tx.execute(
      sql`DELETE FROM webhook_attempts a USING ${keys} WHERE a.delivery_id = x.id AND a.created_at = x.created_at`,
    ),
    tx.execute(sql`DELETE FROM webhook_deliveries d USING ${keys} WHERE d.id = x.id AND d.created_at = x.created_at`),
    tx.execute(sql`DELETE FROM webhook_queue WHERE delivery_id = ANY (${ids}::uuid[])`),
    tx.execute(sql`DELETE FROM webhook_dead_letters WHERE delivery_id = ANY (${ids}::uuid[])`),
  ]);
  return gone.length;
}

/**
 * Removes the deleted webhook itself, a minute later: deliveries that were being matched meanwhile are removed by then.
 */
export async function removeWebhook(tx: Tx, webhookId: string): Promise<void> {
  await tx.execute(sql`DELETE FROM webhook_queue WHERE webhook_id = ${webhookId}`);
  await tx.execute(sql`DELETE FROM webhooks WHERE id = ${webhookId} AND deleted_at < now() - interval '1 minute'`);
}
