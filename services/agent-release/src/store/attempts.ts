import { type Database, sql, type Tx } from "@muster/db";
import type { Component } from "../rules/component.ts";

export type AttemptState = "offered" | "returned" | "succeeded" | "failed" | "cancelled" | "deferred";

export type AttemptRow = {
  id: string;
  device_id: string;
  org_id: string;
  partner_id: string;
  site_id: string | null;
  component: Component;
  release_id: string;
  version: string;
  rollout_id: string;
  from_version: string;
  /** os/arch; null for attempts of before rollouts counted by it. */
  platform: string | null;
  /** Position of the ring by which its rollout included the device; null without rings. */
  wave: number | null;
  state: AttemptState;
  offered_at: Date;
  /** When the agent reported that it had started; null before, and for agents that report nothing. */
  started_at: Date | null;
  deadline: Date;
  /** Bytes of its download that the agent has reported. */
  progress_bytes: number | null;
  returned_at: Date | null;
  ended_at: Date | null;
  reason: string | null;
};

/** An attempt, and whether its device was offered the release again later. */
export type DecidingAttempt = AttemptRow & { is_superseded: boolean };

const columns = sql`id, device_id, org_id, partner_id, site_id, component, release_id, version, rollout_id, from_version, platform, wave, state,
  offered_at, started_at, deadline, progress_bytes, returned_at, ended_at, reason`;

/**
 * Attempts that decide about devices: open ones, those that failed or were deferred in the last thirty days, and those
 * that were cancelled in the last day.
 */
export function attemptsOf(tx: Tx, deviceIds: readonly string[]): Promise<DecidingAttempt[]> {
  return tx.query<DecidingAttempt>(sql`
    SELECT ${columns},
           EXISTS (SELECT FROM update_attempt later WHERE later.device_id = a.device_id AND later.release_id = a.release_id
                   AND later.offered_at > a.offered_at) AS is_superseded
    FROM update_attempt a
    WHERE device_id = ANY (${[...deviceIds]}::uuid[])
      AND (ended_at IS NULL
           OR (state IN ('failed', 'deferred') AND offered_at > clock_timestamp() - interval '30 days')
           OR (state = 'cancelled' AND ended_at > clock_timestamp() - interval '1 day'))`);
}

/** Open attempts of these devices, locked in the order of their ids: other rows may have ended since they were read. */
export function lockOpen(tx: Tx, ids: readonly string[]): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(
    sql`SELECT ${columns} FROM update_attempt WHERE id = ANY (${[...ids]}::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** Open attempts of these devices, locked in the order of their ids. */
export function lockOpenOf(tx: Tx, deviceIds: readonly string[]): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(sql`
    SELECT ${columns} FROM update_attempt WHERE device_id = ANY (${[...deviceIds]}::uuid[]) AND ended_at IS NULL
    ORDER BY id FOR NO KEY UPDATE`);
}

export type NewAttempt = Omit<
  AttemptRow,
  "state" | "deadline" | "progress_bytes" | "offered_at" | "started_at" | "returned_at" | "ended_at" | "reason"
>;

/** Opens attempts; returns the ids of the opened ones. A device that has an open one already gets no other. */
export async function insertAttempts(
  tx: Tx,
  attempts: readonly NewAttempt[],
  timeoutSeconds: number,
): Promise<Set<string>> {
  const of = <K extends keyof NewAttempt>(name: K) => attempts.map((attempt) => attempt[name]);
  const rows = await tx.query<{ id: string }>(sql`
    INSERT INTO update_attempt (id, device_id, org_id, partner_id, site_id, component, release_id, version, rollout_id, from_version,
                                platform, wave, state, offered_at, deadline)
    SELECT g.*, 'offered', clock_timestamp(), clock_timestamp() + make_interval(secs => ${timeoutSeconds})
    FROM unnest(${of("id")}::uuid[], ${of("device_id")}::uuid[], ${of("org_id")}::uuid[], ${of("partner_id")}::uuid[],
                ${of("site_id")}::uuid[], ${of("component")}::text[], ${of("release_id")}::uuid[], ${of("version")}::text[],
                ${of("rollout_id")}::uuid[], ${of("from_version")}::text[], ${of("platform")}::text[],
                ${of("wave")}::smallint[]) AS g
    ON CONFLICT (device_id) WHERE ended_at IS NULL DO NOTHING RETURNING id`);
  return new Set(rows.map(({ id }) => id));
}

/** Runs the new version: from now on it soaks, and is missed when it is silent until then and three intervals. */
export async function markReturned(tx: Tx, id: string, patienceSeconds: number): Promise<void> {
  await tx.execute(sql`
    UPDATE update_attempt
    SET state = 'returned', returned_at = clock_timestamp(),
        deadline = clock_timestamp() + make_interval(secs => ${patienceSeconds})
    WHERE id = ${id}::uuid AND state = 'offered'`);
}

/** Their agents have reported that they started. */
export async function markStarted(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    UPDATE update_attempt SET started_at = clock_timestamp() WHERE id = ANY (${[...ids]}::uuid[]) AND started_at IS NULL`);
}

/**
 * Records progress of downloads, which extends the time of their attempts: never beyond `maxSeconds` after the offer.
 */
export async function recordProgress(
  tx: Tx,
  progress: readonly { id: string; bytes: number }[],
  { timeoutSeconds, maxSeconds }: { timeoutSeconds: number; maxSeconds: number },
): Promise<void> {
  if (progress.length === 0) return;
  await tx.execute(sql`
    UPDATE update_attempt a
    SET progress_bytes = g.bytes,
        deadline = greatest(a.deadline, least(clock_timestamp() + make_interval(secs => ${timeoutSeconds}),
                                              a.offered_at + make_interval(secs => ${maxSeconds})))
    FROM unnest(${progress.map(({ id }) => id)}::uuid[], ${progress.map(({ bytes }) => bytes)}::bigint[]) AS g (id, bytes)
    WHERE a.id = g.id AND a.state = 'offered'`);
}

/** Ends attempts, each with its state and reason. A request of before the offer ends with a success or a failure. */
export async function endAttempts(
  tx: Tx,
  ends: readonly { id: string; state: AttemptState; reason: string | null }[],
): Promise<void> {
  if (ends.length === 0) return;
  await tx.execute(sql`
    UPDATE update_attempt a
    SET state = g.state, reason = g.reason, ended_at = clock_timestamp(),
        returned_at = CASE WHEN g.state = 'succeeded' THEN coalesce(a.returned_at, clock_timestamp()) ELSE a.returned_at END
    FROM unnest(${ends.map(({ id }) => id)}::uuid[], ${ends.map(({ state }) => state)}::text[],
                ${ends.map(({ reason }) => reason)}::text[]) AS g (id, state, reason)
    WHERE a.id = g.id`);
  const served = ends.filter(({ state }) => state === "succeeded" || state === "failed").map(({ id }) => id);
  if (served.length === 0) return;
  await tx.execute(sql`
    DELETE FROM update_request r USING update_attempt a
    WHERE a.id = ANY (${served}::uuid[]) AND r.device_id = a.device_id
      AND r.expires_at <= a.offered_at + make_interval(hours => ${requestHours})`);
}

/** Hours for which a requested update counts. */
export const requestHours = 24;

/** Deletes attempts that were granted and never sent to the device. */
export async function removeAttempts(tx: Tx, ids: readonly string[]): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(sql`
    DELETE FROM update_attempt WHERE id = ANY (${[...ids]}::uuid[]) AND state = 'offered' AND ended_at IS NULL
    RETURNING ${columns}`);
}

/** Whether any attempt is open, and whether the time of one is over; reads only. */
export async function openAttempts(db: Database, who: Parameters<Database["read"]>[0]) {
  const [row] = await db.read<{ any: boolean; due: boolean }>(
    who,
    sql`SELECT first.deadline IS NOT NULL AS any, coalesce(first.deadline <= clock_timestamp(), false) AS due
        FROM (SELECT min(deadline) AS deadline FROM update_attempt WHERE ended_at IS NULL) AS first`,
  );
  return row ?? { any: false, due: false };
}

/**
 * Open attempts whose time is over, locked; those of paused rollouts and those that another replica works on are passed
 * over.
 */
export function lockDue(tx: Tx, limit: number): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(sql`
    SELECT ${columns} FROM update_attempt WHERE ended_at IS NULL AND deadline <= clock_timestamp()
      AND rollout_id NOT IN (SELECT id FROM rollout WHERE state = 'paused')
    ORDER BY deadline LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`);
}

/** Locks the open attempts of a rollout, in the order of their ids. */
export async function lockOpenOfRollout(tx: Tx, rolloutId: string): Promise<void> {
  await tx.query(sql`
    SELECT FROM update_attempt WHERE rollout_id = ${rolloutId}::uuid AND ended_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
}

/** Moves the clocks of open attempts by the pause of their rollout, or by what of it came after they returned. */
export async function extendByPause(tx: Tx, rolloutId: string, pausedAt: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE update_attempt
    SET deadline = deadline + (clock_timestamp() - greatest(${pausedAt}::timestamptz, coalesce(returned_at, offered_at))),
        returned_at = returned_at + (clock_timestamp() - greatest(${pausedAt}::timestamptz, returned_at))
    WHERE rollout_id = ${rolloutId}::uuid AND ended_at IS NULL`);
}

/** Failures of a rollout by organization, most first. */
export function failuresByOrganization(tx: Tx, rolloutId: string): Promise<{ org_id: string; failed: number }[]> {
  return tx.query<{ org_id: string; failed: number }>(sql`
    SELECT org_id, count(*)::int AS failed FROM update_attempt WHERE rollout_id = ${rolloutId}::uuid AND state = 'failed'
    GROUP BY org_id ORDER BY failed DESC, org_id`);
}

/** The newest attempts of a device, whatever their outcome. */
export function newestAttempts(tx: Tx, deviceId: string, limit: number): Promise<AttemptRow[]> {
  return tx.query<AttemptRow>(sql`
    SELECT ${columns} FROM update_attempt WHERE device_id = ${deviceId}::uuid ORDER BY offered_at DESC, id DESC LIMIT ${limit}`);
}

/** Ended attempts are kept for 90 days. */
export function forgetAttempts(tx: Tx, limit: number): Promise<number> {
  return tx.execute(sql`
    DELETE FROM update_attempt WHERE id IN (
      SELECT id FROM update_attempt WHERE ended_at < now() - interval '90 days' ORDER BY ended_at LIMIT ${limit})`);
}

/** Longest time without any gateway after which silence is not counted as failure. */
export const pauseSeconds = 30;

/**
 * Records that a gateway is connected. After an outage of the platform every open attempt's deadline is extended by its
 * duration.
 */
export async function recordGatewayContact(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ gap: number }>(sql`
    SELECT extract(epoch FROM clock_timestamp() - heard_at)::float8 AS gap FROM update_watch WHERE one FOR UPDATE`);
  const gap = row?.gap ?? 0;
  if (gap > pauseSeconds) {
    await tx.execute(
      sql`UPDATE update_attempt SET deadline = deadline + make_interval(secs => ${gap}) WHERE ended_at IS NULL`,
    );
  }
  await tx.execute(sql`UPDATE update_watch SET heard_at = clock_timestamp() WHERE one`);
}

/** Whether gateways were connected lately. */
export async function hadGatewayContact(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ recent: boolean }>(sql`
    SELECT heard_at > clock_timestamp() - make_interval(secs => ${pauseSeconds}) AS recent FROM update_watch WHERE one`);
  return row?.recent ?? false;
}

/** The given devices for which an update was requested. */
export async function requestsOf(tx: Tx, deviceIds: readonly string[]): Promise<Map<string, Date>> {
  const rows = await tx.query<{ device_id: string; expires_at: Date }>(sql`
    SELECT device_id, expires_at FROM update_request
    WHERE device_id = ANY (${[...deviceIds]}::uuid[]) AND expires_at > clock_timestamp()`);
  return new Map(rows.map((row) => [row.device_id, row.expires_at]));
}

export async function putRequest(
  tx: Tx,
  request: { deviceId: string; orgId: string; partnerId: string; by: string; expiresAt: Date },
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO update_request (device_id, org_id, partner_id, requested_by, expires_at)
    VALUES (${request.deviceId}, ${request.orgId}, ${request.partnerId}, ${request.by}, ${request.expiresAt})
    ON CONFLICT (device_id) DO UPDATE SET requested_by = excluded.requested_by, expires_at = excluded.expires_at`);
}

export function forgetRequests(tx: Tx): Promise<number> {
  return tx.execute(sql`DELETE FROM update_request WHERE expires_at < clock_timestamp()`);
}
