import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

/** Life of a gateway's lease; gateways count it from before their call. */
export const leaseMs = 2_000;
/** How long a gateway without a lease may use identity's answer: it calls at most once a second per credential. */
export const unleasedMs = 1_000;
/**
 * Age of the messages that a heartbeat carries: a gateway with a lease received the previous heartbeat within
 * `leaseMs`, and a message's transaction may have begun earlier by at most the statement timeout.
 */
const carriedMs = leaseMs + 13_000;
const carriedMax = 1_000;
/** Longest wait for an acknowledgement. */
const acknowledgementsMs = 60_000;

export type StoredChange = { id: string; subject: string; body: Uint8Array };

const who = { caller: systemCaller("identity") };

/**
 * Registers the gateway or renews its lease. Committed before the changes are read: waiting writers see the lease that
 * they have to wait for.
 */
export async function renewLease(db: Database, gatewayId: string): Promise<void> {
  await db.inOneBatch(who, (tx) =>
    tx.execute(sql`
      INSERT INTO gateways (id, lease_until) VALUES (${gatewayId}, clock_timestamp() + ${leaseMs} * interval '1 ms')
      ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, left_at = NULL`),
  );
}

/**
 * The messages of stream AUTH that a gateway with a lease may not have received; null when there are too many. What it
 * has acknowledged is left out: very many changes of one tenant would have it drop what it knows of all others. Indexes
 * outbox_auth, change_acknowledgements_pkey.
 */
export async function recentChanges(db: Database, gatewayId: string): Promise<StoredChange[] | null> {
  const rows = await db.read<StoredChange>(
    who,
    sql`SELECT msg_id AS id, subject, body FROM outbox
        WHERE starts_with(subject, 'auth.') AND created_at > now() - ${carriedMs} * interval '1 ms'
          AND NOT EXISTS (
            SELECT FROM change_acknowledgements a WHERE a.change_id = outbox.msg_id AND a.gateway_id = ${gatewayId})
        ORDER BY outbox.created_at, outbox.id LIMIT ${carriedMax + 1}`,
  );
  return rows.length > carriedMax ? null : rows;
}

export async function acknowledge(db: Database, gatewayId: string, changeIds: readonly string[]): Promise<void> {
  await db.tx(who, async (tx) => {
    await tx.execute(sql`
      INSERT INTO change_acknowledgements (change_id, gateway_id)
      SELECT id, ${gatewayId}::uuid FROM unnest(${[...changeIds]}::text[]) AS id ORDER BY id ON CONFLICT DO NOTHING`);
  });
}

export async function leave(db: Database, gatewayId: string): Promise<void> {
  await db.inOneBatch(who, (tx) =>
    tx.execute(sql`
      UPDATE gateways SET left_at = clock_timestamp(), lease_until = '-infinity' WHERE id = ${gatewayId}`),
  );
}

/**
 * Gateways that may admit what was true before now, and for how many milliseconds more: to the end of the lease, and
 * without one as long as an answer may be used.
 */
export async function gatewaysToWaitFor(db: Database): Promise<{ id: string; waitMs: number }[]> {
  return db.read(
    who,
    sql`SELECT id, greatest(extract(epoch FROM lease_until - clock_timestamp()) * 1000, ${unleasedMs})::integer AS "waitMs"
        FROM gateways
        WHERE left_at IS NULL AND lease_until > clock_timestamp() - interval '10 s'`,
  );
}

/** Those of the given gateways that have acknowledged all these changes or have left. */
export async function gatewaysDone(
  db: Database,
  gatewayIds: readonly string[],
  changeIds: readonly string[],
): Promise<string[]> {
  const rows = await db.read<{ id: string }>(
    who,
    sql`SELECT g.id FROM gateways g
        WHERE g.id = ANY(${[...gatewayIds]}::uuid[])
          AND (g.left_at IS NOT NULL OR ${changeIds.length} = (
            SELECT count(*) FROM change_acknowledgements a
            WHERE a.gateway_id = g.id AND a.change_id = ANY(${[...changeIds]}::text[])))`,
  );
  return rows.map(({ id }) => id);
}

/** Removes acknowledgements that no call waits for, and gateways that left over a day ago. */
export async function forgetOldLeases(db: Database): Promise<void> {
  await db.tx(who, async (tx) => {
    await tx.execute(sql`
      DELETE FROM change_acknowledgements WHERE created_at < now() - ${acknowledgementsMs} * interval '1 ms'`);
    await tx.execute(sql`
      DELETE FROM gateways
      WHERE lease_until < now() - interval '1 day' AND (left_at IS NULL OR left_at < now() - interval '1 day')`);
  });
}

/** Session families revoked within the life of an access token. Index sessions_revoked. */
export async function recentlyRevokedSessions(db: Database, withinMs: number): Promise<string[]> {
  const rows = await db.read<{ id: string }>(
    who,
    sql`SELECT id FROM sessions WHERE revoked_at > now() - ${withinMs} * interval '1 ms'`,
  );
  return rows.map(({ id }) => id);
}
