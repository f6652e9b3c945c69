import type { Tx } from "@muster/db";
import { platformOf } from "../rules/component.ts";
import { partKey } from "../rules/plan.ts";
import { budgetOf, type Part, partBudgetOf, partsOfDevice, type Ramp } from "../rules/rollout.ts";
import type { AttemptRow } from "../store/attempts.ts";
import { findParts, type PartKey, type PartRow, partsOfAll, putParts } from "../store/rollout-parts.ts";
import { countersOf, limitsOf, liveRollouts, lockRollouts, type RolloutRow, updateRollout } from "../store/rollouts.ts";

/** What of an attempt says in which counters it is. */
export type Counted = Pick<AttemptRow, "rollout_id" | "org_id" | "partner_id" | "platform">;

/** The counters of locked rollouts and of the parts that some attempts belong to; `save` writes them. */
export type RolloutCounts = {
  rollouts: ReadonlyMap<string, RolloutRow>;
  /** The parts of an attempt's rollout that its device belongs to. */
  partsOf(attempt: Counted): PartRow[];
  save(tx: Tx, now: Date): Promise<void>;
};

/** Locks the rollouts of these attempts, then reads the counters that the attempts are in. */
export async function lockCounts(tx: Tx, attempts: readonly Counted[]): Promise<RolloutCounts> {
  const ids = [...new Set(attempts.map(({ rollout_id: id }) => id))];
  const rollouts = new Map((await lockRollouts(tx, ids)).map((row) => [row.id, row]));
  const parts = new Map<string, PartRow>();
  const keyOf = (key: PartKey) => `${key.rollout_id} ${partKey(key)}`;
  for (const attempt of attempts.filter(({ rollout_id: id }) => rollouts.has(id))) {
    for (const part of newParts(attempt)) parts.set(keyOf(part), part);
  }
  const before = new Map<string, PartRow>();
  for (const part of await findParts(tx, [...parts.values()])) {
    before.set(keyOf(part), { ...part });
    parts.set(keyOf(part), part);
  }
  const isChanged = (part: PartRow) => {
    const stored = before.get(keyOf(part));
    if (!stored) return part.in_flight + part.succeeded + part.failed > 0 || part.first_ended;
    return countFields.some((field) => part[field] !== stored[field]);
  };
  return {
    rollouts,
    partsOf: (attempt) => newParts(attempt).flatMap((part) => parts.get(keyOf(part)) ?? []),
    async save(tx, now) {
      for (const rollout of rollouts.values()) await updateRollout(tx, rollout, now);
      await putParts(tx, [...parts.values()].filter(isChanged));
    },
  };
}

const countFields = [
  "in_flight",
  "succeeded",
  "failed",
  "failures_before_resume",
  "first_ended",
  "halted_at",
] as const satisfies readonly (keyof PartRow)[];

function newParts({ rollout_id: rolloutId, org_id: orgId, partner_id: partnerId, platform }: Counted): PartRow[] {
  const counters = { in_flight: 0, succeeded: 0, failed: 0, failures_before_resume: 0 };
  const nothing = { ...counters, first_ended: false, halted_at: null, reason: null };
  const all = partsOfDevice({ orgId, platform: platform ?? "" });
  const named = all.filter(({ kind }) => kind === "organization" || platform !== null);
  return named.map(({ kind, name }) => {
    const owner =
      kind === "organization" ? { org_id: orgId, partner_id: partnerId } : { org_id: null, partner_id: null };
    return { rollout_id: rolloutId, kind, name, ...owner, ...nothing };
  });
}

/** A part in the form of the rules. */
export function partOf(row: PartRow): Part {
  return {
    kind: row.kind,
    inFlight: row.in_flight,
    succeeded: row.succeeded,
    failed: row.failed,
    failuresBeforeResume: row.failures_before_resume,
    firstEnded: row.first_ended,
    isHalted: row.halted_at !== null,
  };
}

/** Offers that each live rollout may make to a device now: the least of the whole and of the device's parts. */
export async function budgetsFor(
  tx: Tx,
  device: { orgId: string; os: string; arch: string; libc?: string | undefined },
  ramp: Ramp,
): Promise<Map<string, number>> {
  const names = partsOfDevice({ orgId: device.orgId, platform: platformOf(device) });
  const parts = await partsOfAll(tx, names);
  const budgets = (await liveRollouts(tx)).map((rollout) => {
    const own = names.map(({ kind, name }) => {
      const row = parts.find((each) => each.rollout_id === rollout.id && each.kind === kind && each.name === name);
      return partBudgetOf(rollout.kind, row ? partOf(row) : { ...unusedPart, kind }, ramp);
    });
    return [rollout.id, Math.min(budgetOf(limitsOf(rollout), countersOf(rollout), ramp), ...own)] as const;
  });
  return new Map(budgets);
}

const unusedPart = {
  inFlight: 0,
  succeeded: 0,
  failed: 0,
  failuresBeforeResume: 0,
  firstEnded: false,
  isHalted: false,
};
