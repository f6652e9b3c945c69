import { sql, type Tx } from "@muster/db";
import { AppError } from "@muster/kit";

/** Seconds within which an enrollment confirms the use it took. */
export const reservationSeconds = 60;
const keepConfirmed = sql`interval '1 day'`;

/** Where an agent that used the key belongs. */
export type ReservedUse = { keyId: string; orgId: string; partnerId: string; siteId: string | null };

/**
 * Takes one use of a key for a device, in a system's transaction: digests of the presented text under each pepper. Asked
 * again for the same device it answers the same and takes nothing. The clock is the database's.
 * Throws `enrollment_key_invalid`, `enrollment_key_expired`, `enrollment_key_exhausted`.
 */
export async function reserve(tx: Tx, digests: readonly Uint8Array[], deviceId: string): Promise<ReservedUse> {
  // One conditional UPDATE: of many at once only as many get through as there are uses left.
  const [taken] = await tx.query<ReservedUse>(sql`
    WITH used AS (
      UPDATE enrollment_keys k SET usage_count = usage_count + 1
      WHERE digest = ANY (${buffers(digests)}::bytea[]) AND expires_at > clock_timestamp()
        AND (max_usage IS NULL OR usage_count < max_usage)
        AND NOT EXISTS (SELECT FROM enrollment_reservations r WHERE r.key_id = k.id AND r.device_id = ${deviceId} AND r.generation = k.generation)
      RETURNING id, generation, org_id, partner_id, site_id
    ), reserved AS (
      INSERT INTO enrollment_reservations (key_id, device_id, generation, reserved_until)
      SELECT id, ${deviceId}, generation, clock_timestamp() + make_interval(secs => ${reservationSeconds}) FROM used
      ON CONFLICT (key_id, device_id) DO UPDATE
      SET generation = excluded.generation, reserved_until = excluded.reserved_until, confirmed_at = NULL
    )
    SELECT id AS "keyId", org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId" FROM used`);
  return taken ?? heldOrRefused(tx, digests, deviceId);
}

type KeyState = ReservedUse & { reserved: boolean; expired: boolean };

async function heldOrRefused(tx: Tx, digests: readonly Uint8Array[], deviceId: string): Promise<ReservedUse> {
  const [key] = await tx.query<KeyState>(sql`
    SELECT id AS "keyId", org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId",
           expires_at <= clock_timestamp() AS expired,
           EXISTS (SELECT FROM enrollment_reservations r
                   WHERE r.key_id = k.id AND r.device_id = ${deviceId} AND r.generation = k.generation) AS reserved
    FROM enrollment_keys k WHERE digest = ANY (${buffers(digests)}::bytea[])`);
  if (!key) throw new AppError("enrollment_key_invalid", "Invalid enrollment key");
  const { reserved, expired, ...use } = key;
  if (reserved) return use;
  if (expired) throw new AppError("enrollment_key_expired", "Enrollment key is expired");
  throw new AppError("enrollment_key_exhausted", "Enrollment key is exhausted");
}

/** The device is enrolled: the use stays taken. False when the reservation had run out and was given back meanwhile. */
export async function confirm(tx: Tx, keyId: string, deviceId: string): Promise<boolean> {
  const confirmed = await tx.execute(sql`
    UPDATE enrollment_reservations SET confirmed_at = coalesce(confirmed_at, clock_timestamp())
    WHERE key_id = ${keyId} AND device_id = ${deviceId}`);
  return confirmed === 1;
}

/** The enrollment failed: the use is there again. Nothing happens to one that was confirmed or given back before. */
export async function release(tx: Tx, keyId: string, deviceId: string): Promise<void> {
  await giveBack(
    tx,
    sql`SELECT key_id, device_id FROM enrollment_reservations
        WHERE key_id = ${keyId} AND device_id = ${deviceId} AND confirmed_at IS NULL FOR UPDATE`,
  );
}

/** Gives back at most `limit` uses that were not confirmed in time, and forgets old confirmed ones; how many came back. */
export async function sweepReservations(tx: Tx, limit = 500): Promise<number> {
  await tx.execute(sql`
    DELETE FROM enrollment_reservations WHERE (key_id, device_id) IN (
      SELECT key_id, device_id FROM enrollment_reservations
      WHERE confirmed_at < clock_timestamp() - ${keepConfirmed} LIMIT ${limit})`);
  // Several sweepers share the work.
  return giveBack(
    tx,
    sql`SELECT key_id, device_id FROM enrollment_reservations
        WHERE confirmed_at IS NULL AND reserved_until <= clock_timestamp()
        ORDER BY key_id, device_id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
}

const buffers = (digests: readonly Uint8Array[]) => digests.map((digest) => Buffer.from(digest));

async function giveBack(tx: Tx, which: ReturnType<typeof sql>): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`
    WITH which AS (${which}),
    gone AS (
      DELETE FROM enrollment_reservations r USING which w
      WHERE r.key_id = w.key_id AND r.device_id = w.device_id RETURNING r.key_id, r.generation
    ), per_key AS (
      SELECT key_id, generation, count(*)::integer AS uses FROM gone GROUP BY key_id, generation
    ), back AS (
      -- A rotation began counting anew: what an older generation took is not in its count.
      UPDATE enrollment_keys k SET usage_count = k.usage_count - p.uses
      FROM per_key p WHERE k.id = p.key_id AND k.generation = p.generation
    )
    SELECT count(*) AS n FROM gone`);
  return row?.n ?? 0;
}
