import type { Database, Tx } from "@muster/db";
import { type Logger, systemCaller } from "@muster/kit";
import type { BeginUpdates } from "../clients/tenancy.ts";
import { service } from "../config.ts";
import type { Component } from "../rules/component.ts";
import { budgetOf, partBudgetOf, type Ramp } from "../rules/rollout.ts";
import { insertAttempts, type NewAttempt, removeAttempts } from "../store/attempts.ts";
import type { PartRow } from "../store/rollout-parts.ts";
import { countersOf, limitsOf, type RolloutRow } from "../store/rollouts.ts";
import { lockCounts, partOf } from "./rollout-counts.ts";

/** An offer that is committed here and that tenancy has not recorded yet; `isNew` when it was granted just now. */
export type Begin = { attemptId: string; deviceId: string; component: Component; version: string; isNew: boolean };

export type GrantDeps = { timeoutSeconds: number; ramp: Ramp };
type BeginDeps = { db: Database; log: Logger; now: () => Date; begin: BeginUpdates; timeoutSeconds: number };

/**
 * Takes offers out of the budgets of their rollouts and of the parts that their devices belong to, under the lock of
 * each rollout; returns the ids of the granted attempts.
 */
export async function grant(
  tx: Tx,
  { timeoutSeconds, ramp }: GrantDeps,
  attempts: readonly NewAttempt[],
  now: Date,
): Promise<Set<string>> {
  if (attempts.length === 0) return new Set();
  const counts = await lockCounts(tx, attempts);
  const taken: { attempt: NewAttempt; counters: (RolloutRow | PartRow)[] }[] = [];
  for (const attempt of attempts) {
    const rollout = counts.rollouts.get(attempt.rollout_id);
    if (rollout?.state !== "running") continue;
    const parts = counts.partsOf(attempt);
    const left = [
      budgetOf(limitsOf(rollout), countersOf(rollout), ramp),
      ...parts.map((part) => partBudgetOf(rollout.kind, partOf(part), ramp)),
    ];
    if (Math.min(...left) <= 0) continue;
    for (const each of [rollout, ...parts]) each.in_flight += 1;
    taken.push({ attempt, counters: [rollout, ...parts] });
  }
  if (taken.length === 0) return new Set();
  const opened = await insertAttempts(
    tx,
    taken.map(({ attempt }) => attempt),
    timeoutSeconds,
  );
  for (const { attempt, counters } of taken) {
    if (!opened.has(attempt.id)) for (const each of counters) each.in_flight -= 1;
  }
  await counts.save(tx, now);
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
      const counts = await lockCounts(tx, removed);
      for (const attempt of removed) {
        const rollout = counts.rollouts.get(attempt.rollout_id);
        for (const each of [...(rollout ? [rollout] : []), ...counts.partsOf(attempt)])
          each.in_flight = Math.max(0, each.in_flight - 1);
      }
      await counts.save(tx, deps.now());
    });
  }
  return started;
}
