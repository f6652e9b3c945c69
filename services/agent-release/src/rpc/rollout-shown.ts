import type { Database, Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { CountDevices } from "../clients/tenancy.ts";
import type { PlanMemory } from "../commands/plan-memory.ts";
import type { Ramp } from "../rules/rollout.ts";
import { haltedParts } from "../store/rollout-parts.ts";
import type { ShownRollout } from "../store/rollouts.ts";
import { rolloutMessage } from "./rollout-message.ts";

export type RolloutDeps = {
  db: Database;
  now: () => Date;
  /** Staged rollouts that the platform, and each partner, may have at a time. */
  stagedMax: number;
  mfaMaxAgeMinutes: number;
  plan: PlanMemory;
  ramp: Ramp;
  countDevices: CountDevices;
};

/** A rollout with its halted parts, as the caller sees it. */
export async function shownTo({ ramp }: RolloutDeps, tx: Tx, context: CallContext, row: ShownRollout) {
  return rolloutMessage(row, context, { halted: await haltedParts(tx, [row.id]), ramp });
}
