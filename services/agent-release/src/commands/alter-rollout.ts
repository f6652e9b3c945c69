import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import { auditRelease } from "../emits/audit.ts";
import { isOverThreshold, threshold } from "../rules/rollout.ts";
import { extendByPause, lockOpenOfRollout } from "../store/attempts.ts";
import { bumpPlan } from "../store/plan.ts";
import { haltedParts, resumeParts } from "../store/rollout-parts.ts";
import {
  countersOf,
  findRollout,
  limitsOf,
  lockRollouts,
  type RolloutRow,
  type RolloutsOf,
  type ShownRollout,
  scopeOf,
  updateRollout,
} from "../store/rollouts.ts";

/** The last word of the audit action, and what its row has besides the changes. */
export type RolloutChange = { action: string; details?: Record<string, unknown> };

/** A rollout of the platform or of the partners that the caller sees. Throws `rollout_not_found`. */
export async function existingRollout(tx: Tx, id: string, { partnerId }: RolloutsOf): Promise<ShownRollout> {
  const row = isUuid(id) ? await findRollout(tx, id) : null;
  const isVisible = partnerId === null || row?.partner_id === null || row?.partner_id === partnerId;
  if (!row || !isVisible) throw rolloutNotFound();
  return row;
}

export const rolloutNotFound = () => new AppError("rollout_not_found", "Rollout not found");

type AlterDeps = { db: Database; now: () => Date };
/** `by` is whose rollouts the caller changes, `service` the same call as the service itself. */
type Alteration = { context: CallContext; service: CallContext; by: RolloutsOf; id: string };

/**
 * Locks a rollout, lets `change` alter its row, records that, and returns what `shown` makes of the rollout after it.
 * Throws `rollout_not_found`.
 */
export function alterRollout<T>(
  { db, now }: AlterDeps,
  { context, service, by, id }: Alteration,
  change: (tx: Tx, row: ShownRollout) => Promise<RolloutChange>,
  shown: (tx: Tx, row: ShownRollout) => Promise<T>,
): Promise<T> {
  const at = now();
  return db.tx(
    service,
    async (tx) => {
      const found = await existingRollout(tx, id, by);
      const { component, version, state, partner_id: partnerId } = found;
      // A partner sees the platform's rollouts, but changes only its own.
      if (by.partnerId !== null && partnerId !== by.partnerId) throw rolloutNotFound();
      // Attempts before their rollout, as heartbeats lock them.
      if (state === "paused") await lockOpenOfRollout(tx, id);
      const [locked] = await lockRollouts(tx, [id]);
      if (!locked) throw rolloutNotFound();
      const row = { ...locked, component, version };
      const before = settled(row);
      const { action, details } = await change(tx, row);
      await moveClocks(tx, row, locked, at);
      await updateRollout(tx, row, at);
      const changed = { before, after: settled(row) };
      const fact = { action: `agent_update.rollout.${action}`, id, name: `${component} ${version}`, partnerId };
      auditRelease(tx, context, { ...fact, details: { ...details, changes: changed } }, at);
      await bumpPlan(tx, scopeOf(row));
      return shown(tx, await existingRollout(tx, id, by));
    },
    { retry: true },
  );
}

/**
 * Above its threshold, or with a halted part, a rollout continues only for a user who accepts the failures: then those
 * of the whole and of its parts no longer count. Throws
 * `rollout_over_threshold`.
 */
export async function acceptOrRefuse(tx: Tx, row: RolloutRow, acceptFailures: boolean): Promise<void> {
  if (acceptFailures) {
    row.failures_before_resume = row.failed;
    return resumeParts(tx, row.id);
  }
  const counters = countersOf(row);
  const halted = await haltedParts(tx, [row.id]);
  if (!isOverThreshold(limitsOf(row), counters) && halted.length === 0) return;
  const { succeeded, failed, failuresBeforeResume } = counters;
  const parts = halted.map((part) => ({ kind: part.kind, name: part.name, reason: part.reason }));
  const facts = { succeeded, failed, failuresBeforeResume, threshold: threshold(limitsOf(row), counters), parts };
  throw new AppError("rollout_over_threshold", "More updates failed than the rollout allows", { facts });
}

/** The clocks of the attempts stop with a pause, and go on with its end. */
async function moveClocks(tx: Tx, row: RolloutRow, before: RolloutRow, at: Date): Promise<void> {
  if (row.state === "paused") row.paused_at = before.paused_at ?? at;
  else if (before.paused_at !== null) {
    await extendByPause(tx, row.id, before.paused_at);
    row.paused_at = null;
  }
}

function settled(row: RolloutRow): Record<string, unknown> {
  const {
    state,
    percent,
    open_rings: openRings,
    max_in_flight: maxInFlight,
    failures_before_resume: failuresBeforeResume,
    wave_success_percent: waveSuccessPercent,
  } = row;
  const { halt_failures: haltAfterFailures, halt_percent: haltPercent, soak_seconds: soakSeconds } = row;
  const limits = { maxInFlight, haltAfterFailures, haltPercent, soakSeconds, waveSuccessPercent };
  const held = row.partner_id === null ? {} : { heldByPlatform: row.held_by_platform };
  return { state, percent, openRings, ...limits, failuresBeforeResume, ...held };
}
