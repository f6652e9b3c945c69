import type { Tx } from "@muster/db";
import { counter, type Logger } from "@muster/kit";
import { asItself, auditRelease, auditTenant } from "../emits/audit.ts";
import { isOverThreshold } from "../rules/rollout.ts";
import { type AttemptRow, type AttemptState, failuresByOrganization } from "../store/attempts.ts";
import { bumpPlan } from "../store/plan.ts";
import { countersOf, limitsOf, lockRollouts, type RolloutRow, updateRollout } from "../store/rollouts.ts";

const outcomes = counter("muster_agent_release_update_attempts_total", "Ended update attempts by outcome.", [
  "component",
  "outcome",
]);
const haltedCounter = counter("muster_agent_release_rollouts_halted_total", "Rollouts that halted themselves.");

/** Organizations named in a halt's audit row, those with the most failures first. */
const namedOrganizations = 10;

/** An attempt that has ended in this transaction, or a failed or cancelled one that succeeded later (`late`). */
export type Outcome = { attempt: AttemptRow; state: AttemptState; reason: string | null; late?: true };

/** Moves the counters of the rollouts by what ended, and halts those with too many failures. */
export async function countOutcomes(
  tx: Tx,
  ended: readonly Outcome[],
  { now, log }: { now: Date; log: Logger },
): Promise<void> {
  if (ended.length === 0) return;
  const rollouts = new Map(
    (await lockRollouts(tx, [...new Set(ended.map((e) => e.attempt.rollout_id))])).map((r) => [r.id, r]),
  );
  const reasons = new Map<string, string>();
  for (const outcome of ended) {
    const { attempt, state, reason, late } = outcome;
    outcomes.inc({ component: attempt.component, outcome: state });
    if (state === "failed") auditFailure(tx, attempt, reason, now);
    const rollout = rollouts.get(attempt.rollout_id);
    // The rollout was deleted with its release meanwhile: nothing is counted.
    if (!rollout) continue;
    if (late) rollout.failed = Math.max(0, rollout.failed - (attempt.state === "failed" ? 1 : 0));
    else rollout.in_flight = Math.max(0, rollout.in_flight - 1);
    if (state === "succeeded") rollout.succeeded += 1;
    if (state === "failed") {
      rollout.failed += 1;
      reasons.set(rollout.id, reason ?? "failed");
    }
    rollout.failures_before_resume = Math.min(rollout.failures_before_resume, rollout.failed);
  }
  let halted = false;
  for (const rollout of rollouts.values()) {
    if (rollout.state === "running" && isOverThreshold(limitsOf(rollout), countersOf(rollout))) {
      await halt(tx, rollout, reasons.get(rollout.id) ?? "failed", now);
      log.warn(
        { rolloutId: rollout.id, failed: rollout.failed, succeeded: rollout.succeeded },
        "rollout halted itself",
      );
      halted = true;
    }
    await updateRollout(tx, rollout, now);
  }
  if (halted) await bumpPlan(tx, { scope: "all" });
}

async function halt(tx: Tx, rollout: RolloutRow, lastReason: string, now: Date): Promise<void> {
  // When all failures are of one organization, the cause may be that organization, and the user who resumes must know
  // it. Partners read the reason, too, so that only the audit row has the names.
  const failing = await failuresByOrganization(tx, rollout.id);
  const ofOne = failing.length === 1 ? ", all of one organization" : "";
  rollout.state = "halted";
  rollout.reason = `${rollout.failed - rollout.failures_before_resume} failures${ofOne}, the last: ${lastReason}`;
  haltedCounter.inc();
  const details = {
    failed: rollout.failed,
    succeeded: rollout.succeeded,
    inFlight: rollout.in_flight,
    reason: rollout.reason,
    organizations: failing.slice(0, namedOrganizations).map(({ org_id: id, failed }) => ({ id, failed })),
  };
  auditRelease(
    tx,
    asItself(),
    { action: "agent_update.rollout.halt", id: rollout.id, name: rollout.kind, details },
    now,
  );
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
