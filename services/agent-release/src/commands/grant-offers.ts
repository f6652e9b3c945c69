import type { Database, Tx } from "@muster/db";
import { type Logger, systemCaller } from "@muster/kit";
import type { BeginUpdates } from "../clients/tenancy.ts";
import { service } from "../config.ts";
import { budgetOf } from "../rules/rollout.ts";
import { insertAttempts, type NewAttempt, removeAttempts } from "../store/attempts.ts";
import { countersOf, limitsOf, lockRollouts, updateRollout } from "../store/rollouts.ts";

/** An offer that is committed here and that tenancy has not recorded yet; `isNew` when it was granted just now. */
export type Begin = { attemptId: string; deviceId: string; component: string; version: string; isNew: boolean };

type BeginDeps = { db: Database; log: Logger; now: () => Date; begin: BeginUpdates; timeoutSeconds: number };

/**
 * Takes offers out of the budgets of their rollouts, under the lock of each; returns the ids of the granted attempts.
 */
export async function grant(
  tx: Tx,
  { timeoutSeconds }: { timeoutSeconds: number },
  attempts: readonly NewAttempt[],
  now: Date,
): Promise<Set<string>> {
  if (attempts.length === 0) return new Set();
  const rollouts = await lockRollouts(tx, [...new Set(attempts.map(({ rollout_id: id }) => id))]);
  const taken: NewAttempt[] = [];
  for (const rollout of rollouts) {
    const budget = rollout.state === "running" ? budgetOf(limitsOf(rollout), countersOf(rollout)) : 0;
    taken.push(...attempts.filter(({ rollout_id: id }) => id === rollout.id).slice(0, budget));
  }
  if (taken.length === 0) return new Set();
  const opened = await insertAttempts(tx, taken, timeoutSeconds);
  for (const rollout of rollouts) {
    const n = taken.filter(({ id, rollout_id: of }) => of === rollout.id && opened.has(id)).length;
    if (n > 0) await updateRollout(tx, { ...rollout, in_flight: rollout.in_flight + n }, now);
  }
  return opened;
}

/** Notifies tenancy; grants that it does not record are rolled back, so that they hold no budget. */
export async function beginAll(deps: BeginDeps, begins: readonly Begin[]): Promise<Set<string>> {
  if (begins.length === 0) return new Set();
  const { timeoutSeconds } = deps;
  let started: Set<string>;
  try {
    started = await deps.begin(
      begins.map(({ deviceId, component, version }) => ({ deviceId, component, version, timeoutSeconds })),
    );
  } catch (err) {
    deps.log.warn({ err, updates: begins.length }, "tenancy records no updates: grants rolled back");
    started = new Set();
  }
  const back = begins
    .filter(({ deviceId, isNew }) => isNew && !started.has(deviceId))
    .map(({ attemptId }) => attemptId);
  if (back.length > 0) {
    await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
      const removed = await removeAttempts(tx, back);
      const now = deps.now();
      for (const rollout of await lockRollouts(tx, [...new Set(removed.map(({ rollout_id: id }) => id))])) {
        const n = removed.filter(({ rollout_id: id }) => id === rollout.id).length;
        await updateRollout(tx, { ...rollout, in_flight: Math.max(0, rollout.in_flight - n) }, now);
      }
    });
  }
  return started;
}
