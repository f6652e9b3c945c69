import { type Database, sql, type Tx } from "@muster/db";
import { conditions, nonEmpty, qb, type Rows } from "@muster/db/builder";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { Component } from "../rules/component.ts";
import type { Ring } from "../rules/ring.ts";
import type { Counters, Limits, RolloutState } from "../rules/rollout.ts";
import type { PlanScope } from "./plan.ts";

export type RolloutRow = {
  id: string;
  release_id: string;
  /** Whose it is: it includes this partner's devices alone; null: the platform's. */
  partner_id: string | null;
  kind: "guard" | "staged";
  state: RolloutState;
  rings: Ring[];
  open_rings: number;
  percent: number;
  max_in_flight: number;
  halt_failures: number;
  halt_percent: number;
  soak_seconds: number;
  /** Percent of the devices of the open rings that open the next ring when they have succeeded; null: none. */
  wave_success_percent: number | null;
  /** Permits devices that run a newer version to go back; null: they do not. */
  rollback_note: string | null;
  in_flight: number;
  succeeded: number;
  failed: number;
  /** Failures before the rollout was last resumed. */
  failures_before_resume: number;
  reason: string | null;
  /** The platform paused it: its partner cannot resume it. */
  held_by_platform: boolean;
  /** Since when the clocks of its attempts stand still; null unless it is paused. */
  paused_at: Date | null;
  /** Of the whole; null unless it is halted. */
  halted_at: Date | null;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

/** Whose rollouts a caller sees besides the platform's: one partner's, or (null) every partner's. */
export type RolloutsOf = { partnerId: string | null };

/** A rollout with the facts of its release. */
export type ShownRollout = RolloutRow & { component: Component; version: string };

const columns = sql`id, release_id, partner_id, kind, state, rings, open_rings, percent, max_in_flight, halt_failures, halt_percent, soak_seconds,
  wave_success_percent, rollback_note, in_flight, succeeded, failed, forgiven AS failures_before_resume, reason, held_by_platform, paused_at, halted_at, created_by, created_at,
  updated_at`;
/** Columns of a rollout `t` with those of its release. */
export const shown = sql`t.*, t.forgiven AS failures_before_resume, (SELECT r.component FROM release r WHERE r.id = t.release_id) AS component,
  (SELECT r.version FROM release r WHERE r.id = t.release_id) AS version`;

export type NewRollout = Omit<
  RolloutRow,
  | "in_flight"
  | "succeeded"
  | "failed"
  | "failures_before_resume"
  | "reason"
  | "paused_at"
  | "halted_at"
  | "updated_at"
  | "rollback_note"
  | "partner_id"
  | "held_by_platform"
> & { rollback_note?: string | null; partner_id?: string | null };

export async function insertRollout(tx: Tx, r: NewRollout): Promise<void> {
  await tx.execute(sql`
    INSERT INTO rollout (id, release_id, partner_id, kind, state, rings, open_rings, percent, max_in_flight, halt_failures, halt_percent,
                         soak_seconds, wave_success_percent, rollback_note, created_by, created_at, updated_at)
    VALUES (${r.id}, ${r.release_id}, ${r.partner_id ?? null}::uuid, ${r.kind}, ${r.state}, ${JSON.stringify(r.rings)}::jsonb, ${r.open_rings}, ${r.percent},
            ${r.max_in_flight}, ${r.halt_failures}, ${r.halt_percent}, ${r.soak_seconds}, ${r.wave_success_percent}, ${r.rollback_note ?? null}, ${r.created_by},
            ${r.created_at}, ${r.created_at})`);
}

/** All rollouts that may still offer: guards, and staged ones that have not ended. */
export function liveRollouts(tx: Tx): Promise<RolloutRow[]> {
  return tx.query<RolloutRow>(sql`
    SELECT ${columns} FROM rollout WHERE kind = 'guard' OR state IN ('running', 'paused', 'halted') ORDER BY created_at DESC, id`);
}

/** Rollouts by id, locked in the order of their ids: transactions that count in several never deadlock. */
export function lockRollouts(tx: Tx, ids: readonly string[]): Promise<RolloutRow[]> {
  return tx.query<RolloutRow>(
    sql`SELECT ${columns} FROM rollout WHERE id = ANY (${[...ids]}::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** By rollout: the seconds for which a device must run the new version, and whether the clocks stand still. */
export async function clocksOf(tx: Tx, ids: readonly string[]): Promise<Map<string, RolloutClock>> {
  const rows = await tx.query<{ id: string; soak_seconds: number; is_paused: boolean }>(
    sql`SELECT id, soak_seconds, state = 'paused' AS is_paused FROM rollout WHERE id = ANY (${[...ids]}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.id, { soakSeconds: row.soak_seconds, isPaused: row.is_paused }]));
}

export type RolloutClock = { soakSeconds: number; isPaused: boolean };

/** Writes counters, state and what users change of a locked rollout. */
export async function updateRollout(tx: Tx, r: RolloutRow, at: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE rollout
    SET state = ${r.state}, open_rings = ${r.open_rings}, percent = ${r.percent}, max_in_flight = ${r.max_in_flight},
        halt_failures = ${r.halt_failures}, halt_percent = ${r.halt_percent}, soak_seconds = ${r.soak_seconds},
        wave_success_percent = ${r.wave_success_percent},
        in_flight = ${r.in_flight}, succeeded = ${r.succeeded}, failed = ${r.failed}, forgiven = ${r.failures_before_resume},
        reason = ${r.reason}, held_by_platform = ${r.held_by_platform}, paused_at = ${r.paused_at}, halted_at = ${r.state === "halted" ? (r.halted_at ?? at) : null},
        updated_at = ${at}
    WHERE id = ${r.id}::uuid`);
}

/** Staged rollouts of a partner, or of the platform, that have not ended. */
export async function countStaged(tx: Tx, partnerId: string | null): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*)::int AS n FROM rollout
    WHERE kind = 'staged' AND state IN ('running', 'paused', 'halted') AND partner_id IS NOT DISTINCT FROM ${partnerId}::uuid`);
  return row?.n ?? 0;
}

export async function findRollout(tx: Tx, id: string): Promise<ShownRollout | null> {
  const [row] = await tx.query<ShownRollout>(sql`SELECT ${shown} FROM rollout t WHERE t.id = ${id}::uuid`);
  return row ?? null;
}

export function listRollouts(
  db: Database,
  who: CallContext,
  wanted: { component: string; state: string; kind: string; partnerId: string },
  visible: RolloutsOf,
  page: Page,
): Promise<ListPage<ShownRollout>> {
  const { component, state, kind, partnerId } = wanted;
  const releases = qb("release").select("id").where({ component });
  const where = conditions((rows) =>
    rows
      .where(nonEmpty({ "t.state": state, "t.kind": kind, "t.partner_id": partnerId }))
      .modify((all) => visible.partnerId !== null && all.where(ofPlatformOr(visible.partnerId)))
      .modify((all) => component !== "" && all.whereIn("t.release_id", releases)),
  );
  return readNewestPage<ShownRollout>(db, who, { table: sql`rollout`, columns: shown, where }, page);
}

const ofPlatformOr = (partnerId: string) => (rows: Rows) =>
  void rows.whereNull("t.partner_id").orWhere("t.partner_id", partnerId);

/** Updates in flight by rollout; rollouts without any are omitted. */
export function countInFlightByRollout(tx: Tx): Promise<{ id: string; in_flight: number }[]> {
  return tx.query<{ id: string; in_flight: number }>(sql`SELECT id, in_flight FROM rollout WHERE in_flight > 0`);
}

/** The devices whose decisions a change of the rollout concerns. */
export function scopeOf({ partner_id: partnerId }: Pick<RolloutRow, "partner_id">): PlanScope {
  return partnerId === null ? { scope: "all" } : { scope: "partner", id: partnerId };
}

export function limitsOf(r: RolloutRow): Limits {
  return { maxInFlight: r.max_in_flight, haltFailures: r.halt_failures, haltPercent: r.halt_percent };
}

export function countersOf(r: RolloutRow): Counters {
  return {
    inFlight: r.in_flight,
    succeeded: r.succeeded,
    failed: r.failed,
    failuresBeforeResume: r.failures_before_resume,
  };
}
