import type { Tx } from "@muster/db";
import { counter, type Logger } from "@muster/kit";
import { asItself, auditRelease, auditTenant } from "../emits/audit.ts";
import { isNextWaveDue, isOverThreshold } from "../rules/rollout.ts";
import type { AttemptRow, AttemptState } from "../store/attempts.ts";
import { bumpPlan } from "../store/plan.ts";
import type { PartRow } from "../store/rollout-parts.ts";
import { countersOf, limitsOf, type RolloutRow, scopeOf } from "../store/rollouts.ts";
import { haltPart, haltRollout } from "./halt.ts";
import { lockCounts, partOf, type RolloutCounts } from "./rollout-counts.ts";

const outcomes = counter("muster_agent_release_update_attempts_total", "Ended update attempts by outcome.", [
  "component",
  "outcome",
]);

/** An attempt that has ended in this transaction, or a failed or cancelled one that succeeded later (`late`). */
export type Outcome = { attempt: AttemptRow; state: AttemptState; reason: string | null; late?: true };

type Counters = Pick<RolloutRow, "in_flight" | "succeeded" | "failed" | "failures_before_resume">;

/**
 * Moves the counters of the rollouts and of their parts by what ended, and halts those with too many failures: a part
 * alone, or the whole.
 */
export async function countOutcomes(
  tx: Tx,
  ended: readonly Outcome[],
  { now, log }: { now: Date; log: Logger },
): Promise<void> {
  if (ended.length === 0) return;
  const counts = await lockCounts(
    tx,
    ended.map(({ attempt }) => attempt),
  );
  const failures = new Map<RolloutRow | PartRow, { attempt: AttemptRow; reason: string }>();
  for (const outcome of ended) {
    const { attempt, state, reason } = outcome;
    outcomes.inc({ component: attempt.component, outcome: state });
    if (state === "failed") auditFailure(tx, attempt, reason, now);
    const rollout = counts.rollouts.get(attempt.rollout_id);
    // The rollout was deleted with its release meanwhile: nothing is counted.
    if (!rollout) continue;
    const parts = counts.partsOf(attempt);
    for (const each of [rollout, ...parts]) {
      count(each, outcome);
      if (state === "failed") failures.set(each, { attempt, reason: reason ?? "failed" });
    }
    for (const part of parts) part.first_ended ||= state !== "deferred";
  }
  const halted = await haltWhereNeeded(tx, counts, failures, { now, log });
  const opened = [...counts.rollouts.values()].filter((rollout) => openNextWave(tx, rollout, now));
  await bumpPlanOf(tx, [...halted, ...opened]);
  await counts.save(tx, now);
}

/** Invalidates the decisions that these rollouts concern. */
async function bumpPlanOf(tx: Tx, rollouts: readonly RolloutRow[]): Promise<void> {
  const partnerIds = new Set(rollouts.map(({ partner_id: partnerId }) => partnerId));
  if (partnerIds.has(null)) return void (await bumpPlan(tx, { scope: "all" }));
  for (const partnerId of partnerIds) await bumpPlan(tx, scopeOf({ partner_id: partnerId }));
}

/** Opens the next ring of a running rollout when enough devices of the rings before it have succeeded. */
function openNextWave(tx: Tx, rollout: RolloutRow, now: Date): boolean {
  const { id, kind, state, rings, open_rings: openRings, percent, succeeded, partner_id: partnerId } = rollout;
  const wave = { rings, openRings, percent, succeeded, waveSuccessPercent: rollout.wave_success_percent };
  if (state !== "running" || !isNextWaveDue(wave)) return false;
  rollout.open_rings += 1;
  const changes = { before: { openRings }, after: { openRings: openRings + 1 } };
  auditRelease(
    tx,
    asItself(),
    { action: "agent_update.rollout.update", id, name: kind, partnerId, details: { changes, succeeded } },
    now,
  );
  return true;
}

function count(counters: Counters, { attempt, state, late }: Outcome): void {
  if (late) counters.failed = Math.max(0, counters.failed - (attempt.state === "failed" ? 1 : 0));
  else counters.in_flight = Math.max(0, counters.in_flight - 1);
  if (state === "succeeded") counters.succeeded += 1;
  if (state === "failed") counters.failed += 1;
  counters.failures_before_resume = Math.min(counters.failures_before_resume, counters.failed);
}

async function haltWhereNeeded(
  tx: Tx,
  { rollouts, partsOf }: RolloutCounts,
  failures: ReadonlyMap<RolloutRow | PartRow, { attempt: AttemptRow; reason: string }>,
  { now, log }: { now: Date; log: Logger },
): Promise<RolloutRow[]> {
  const halted: RolloutRow[] = [];
  for (const [counted, { attempt, reason }] of failures) {
    const rollout = rollouts.get(attempt.rollout_id);
    if (rollout?.state !== "running") continue;
    const { failed, succeeded } = counted;
    const facts = { rolloutId: rollout.id, failed, succeeded };
    if (counted === rollout) {
      if (!isOverThreshold(limitsOf(rollout), countersOf(rollout))) continue;
      await haltRollout(tx, rollout, attempt, reason, now);
      log.warn(facts, "rollout halted itself");
      halted.push(rollout);
      continue;
    }
    const part = partsOf(attempt).find((each) => each === counted);
    if (!part || part.halted_at !== null || !isOverThreshold(limitsOf(rollout), partOf(part))) continue;
    await haltPart(tx, rollout, part, attempt, reason, now);
    log.warn({ ...facts, kind: part.kind, name: part.name }, "a part of a rollout halted itself");
    halted.push(rollout);
  }
  return halted;
}

function auditFailure(tx: Tx, attempt: AttemptRow, reason: string | null, now: Date): void {
  const { component, version, from_version: fromVersion, rollout_id: rolloutId } = attempt;
  const resource = { type: "device", id: attempt.device_id, name: null };
  const fact = {
    action: "device.update.failed",
    resource,
    orgId: attempt.org_id,
    partnerId: attempt.partner_id,
    result: "failure" as const,
    errorMessage: reason ?? "failed",
    details: { component, version, fromVersion, rolloutId, reason },
  };
  auditTenant(tx, asItself(), fact, now);
}
