import { sql, type Tx } from "@muster/db";
import { AppError } from "@muster/kit";

export type Refusal = "enrollment_key_invalid" | "enrollment_key_expired" | "enrollment_key_exhausted" | "given_up";

/** Seconds within which an enrollment must confirm the use it took, unless configured otherwise. */
export const defaultReservationSeconds = 60;
const keepConfirmed = sql`interval '1 day'`;

/** Where an agent that used the key belongs. */
export type ReservedUse = {
  keyId: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  /** What becomes of a machine that is enrolled already. */
  reinstall: string;
};

/**
 * Takes one use of a key for a device, in a system's transaction: digests of the presented text under each pepper. A
 * repeat for the same device returns the same and takes no use. The clock is the database's. A text is the reason for a
 * refusal.
 */
export async function reserveUse(
  tx: Tx,
  digests: readonly Uint8Array[],
  deviceId: string,
  reservationSeconds = defaultReservationSeconds,
): Promise<ReservedUse | Refusal> {
  // One conditional UPDATE: of many concurrent ones exactly as many succeed as there are uses left.
  const [taken] = await tx.query<ReservedUse>(sql`
    WITH used AS (
      UPDATE enrollment_keys k SET usage_count = usage_count + 1
      WHERE digest = ANY (${buffers(digests)}::bytea[]) AND expires_at > clock_timestamp()
        AND (max_usage IS NULL OR usage_count < max_usage)
        AND NOT EXISTS (SELECT FROM enrollment_reservations r WHERE r.key_id = k.id AND r.device_id = ${deviceId} AND r.generation = k.generation)
      RETURNING id, generation, org_id, partner_id, site_id, reinstall
    ), reserved AS (
      INSERT INTO enrollment_reservations (key_id, device_id, generation, reserved_until)
      SELECT id, ${deviceId}, generation, clock_timestamp() + make_interval(secs => ${reservationSeconds}) FROM used
      ON CONFLICT (key_id, device_id) DO UPDATE
      SET generation = excluded.generation, reserved_until = excluded.reserved_until, confirmed_at = NULL
    )
    SELECT id AS "keyId", org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId", reinstall FROM used`);
  return taken ?? heldOrRefused(tx, digests, deviceId);
}

/** The use; throws the refusal of docs/behaviour.md#enrollment-keys. */
export function granted(outcome: ReservedUse | Refusal): ReservedUse {
  switch (outcome) {
    case "enrollment_key_invalid":
      throw new AppError(outcome, "Invalid enrollment key");
    case "enrollment_key_expired":
      throw new AppError(outcome, "Enrollment key is expired");
    case "enrollment_key_exhausted":
      throw new AppError(outcome, "Enrollment key is exhausted");
    case "given_up":
      throw new AppError("unavailable", "Enrollment is being rolled back", { retryAfterSeconds: 1 });
    default:
      return outcome;
  }
}

type KeyState = ReservedUse & { reserved: boolean; given_up: boolean; expired: boolean };

async function heldOrRefused(tx: Tx, digests: readonly Uint8Array[], deviceId: string): Promise<ReservedUse | Refusal> {
  const [key] = await tx.query<KeyState>(sql`
    SELECT id AS "keyId", org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId", reinstall,
           expires_at <= clock_timestamp() AS expired,
           r.device_id IS NOT NULL AS reserved, r.given_up_at IS NOT NULL AS given_up
    FROM enrollment_keys k LEFT JOIN enrollment_reservations r
      ON r.key_id = k.id AND r.device_id = ${deviceId} AND r.generation = k.generation
    WHERE digest = ANY (${buffers(digests)}::bytea[])`);
  if (!key) return "enrollment_key_invalid";
  const { reserved, given_up: isAbandoned, expired, ...use } = key;
  if (isAbandoned) return "given_up";
  if (reserved) return use;
  return expired ? "enrollment_key_expired" : "enrollment_key_exhausted";
}

/** The device is enrolled: confirms the use. False when the reservation had expired and was released. */
export async function confirm(tx: Tx, keyId: string, deviceId: string): Promise<boolean> {
  const [row] = await tx.query<{ held: boolean }>(sql`
    WITH now_confirmed AS (
      UPDATE enrollment_reservations SET confirmed_at = clock_timestamp()
      WHERE key_id = ${keyId} AND device_id = ${deviceId} AND given_up_at IS NULL AND confirmed_at IS NULL
      RETURNING key_id, device_id, generation
    ), counted AS (
      UPDATE enrollment_keys k SET confirmed_count = confirmed_count + 1
      FROM now_confirmed c WHERE k.id = c.key_id AND k.generation = c.generation
    )
    SELECT EXISTS (SELECT FROM now_confirmed) OR EXISTS (
      SELECT FROM enrollment_reservations
      WHERE key_id = ${keyId} AND device_id = ${deviceId} AND confirmed_at IS NOT NULL) AS held`);
  return row?.held ?? false;
}

/** The enrollment failed: releases the use. No effect on a use that was already confirmed or released. */
export async function release(tx: Tx, keyId: string, deviceId: string): Promise<void> {
  await giveBack(
    tx,
    sql`SELECT key_id, device_id FROM enrollment_reservations
        WHERE key_id = ${keyId} AND device_id = ${deviceId} AND confirmed_at IS NULL FOR UPDATE`,
  );
}

export type Reservation = { keyId: string; deviceId: string };

/**
 * Expires at most `limit` uses that were not confirmed in time, and returns those with the ones expired earlier that
 * still exist: none of them can be confirmed any more. Deletes old confirmed ones.
 */
export async function abandonReservations(tx: Tx, limit: number): Promise<Reservation[]> {
  await tx.execute(sql`
    DELETE FROM enrollment_reservations WHERE (key_id, device_id) IN (
      SELECT key_id, device_id FROM enrollment_reservations
      WHERE confirmed_at < clock_timestamp() - ${keepConfirmed} LIMIT ${limit})`);
  // Several sweepers share the work.
  return tx.query<Reservation>(sql`
    UPDATE enrollment_reservations r SET given_up_at = coalesce(r.given_up_at, clock_timestamp())
    FROM (SELECT key_id, device_id FROM enrollment_reservations
          WHERE confirmed_at IS NULL AND reserved_until <= clock_timestamp()
          ORDER BY reserved_until LIMIT ${limit} FOR UPDATE SKIP LOCKED) late
    WHERE r.key_id = late.key_id AND r.device_id = late.device_id
    RETURNING r.key_id AS "keyId", r.device_id AS "deviceId"`);
}

/** Releases expired uses whose devices were deleted; returns their number. */
export function returnAbandoned(tx: Tx, gone: readonly Reservation[]): Promise<number> {
  return giveBack(
    tx,
    sql`SELECT r.key_id, r.device_id FROM enrollment_reservations r
        JOIN unnest(${gone.map((r) => r.keyId)}::uuid[], ${gone.map((r) => r.deviceId)}::uuid[]) AS g (key_id, device_id)
          ON r.key_id = g.key_id AND r.device_id = g.device_id
        WHERE r.confirmed_at IS NULL AND r.given_up_at IS NOT NULL
        ORDER BY r.key_id, r.device_id FOR UPDATE OF r`,
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
