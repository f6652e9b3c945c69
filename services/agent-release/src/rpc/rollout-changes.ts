import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, type FieldErrors, validationError } from "@muster/kit";
import type { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { callContext } from "@muster/rpc";
import { acceptOrRefuse, alterRollout, type RolloutChange } from "../commands/alter-rollout.ts";
import { pinForPartner } from "../commands/pin-partner.ts";
import { promoteVersion } from "../commands/promote.ts";
import type { RolloutState } from "../rules/rollout.ts";
import { checkLimits } from "../rules/rollout-limits.ts";
import type { ShownRollout } from "../store/rollouts.ts";
import { asService, requireRolloutOperator, requireWholePartner, visibleTo } from "./guards.ts";
import { type RolloutDeps, shownTo } from "./rollout-shown.ts";

/** States from which each change is possible, and where it leads. */
const changes: Record<string, { from: readonly RolloutState[]; to: RolloutState }> = {
  pause: { from: ["running", "paused"], to: "paused" },
  resume: { from: ["running", "paused", "halted"], to: "running" },
  complete: { from: ["running", "paused", "halted"], to: "completed" },
  cancel: { from: ["running", "paused", "halted"], to: "cancelled" },
};

type Handlers = ServiceImpl<typeof RolloutService>;

/** Changes of limits and state, by the platform or by the partner whose rollout it is. */
export function rolloutChanges(deps: RolloutDeps): Pick<Handlers, "updateRollout" | "changeState"> {
  return {
    async updateRollout(request, handler) {
      const context = callContext(handler);
      requireRolloutOperator(context, deps.mfaMaxAgeMinutes);
      const { id, $typeName: _type, $unknown: _unknown, ...fields } = request;
      if (Object.values(fields).every((value) => value === undefined))
        throw new AppError("no_updates", "No updates provided");
      return altered(deps, context, id, async (_tx, row) => {
        if (row.state === "completed" || row.state === "cancelled") throw notRunning(row.state);
        const errors: FieldErrors = {};
        if (request.percent !== undefined && request.percent < row.percent) errors.percent = ["May only rise"];
        if (request.openRings !== undefined && request.openRings < row.open_rings) errors.openRings = ["May only rise"];
        row.percent = request.percent ?? row.percent;
        row.open_rings = request.openRings ?? row.open_rings;
        row.max_in_flight = request.maxInFlight ?? row.max_in_flight;
        row.halt_failures = request.haltAfterFailures ?? row.halt_failures;
        row.halt_percent = request.haltPercent ?? row.halt_percent;
        row.soak_seconds = request.soakSeconds ?? row.soak_seconds;
        row.wave_success_percent = request.waveSuccessPercent ?? row.wave_success_percent;
        checkLimits(row, row.rings.length, errors);
        if (Object.keys(errors).length > 0) throw validationError(errors);
        return { action: "update" };
      });
    },

    async changeState({ id, change, acceptFailures }, handler) {
      const context = callContext(handler);
      requireRolloutOperator(context, deps.mfaMaxAgeMinutes);
      const wanted = changes[change];
      if (!wanted) throw validationError({ change: ["Must be pause, resume, complete or cancel"] });
      return altered(deps, context, id, async (tx, row) => {
        const isGuard = row.kind === "guard";
        if (!wanted.from.includes(row.state) || (isGuard && (change === "complete" || change === "cancel"))) {
          throw notRunning(row.state);
        }
        // A halted rollout stays halted until an operator accepts its failures.
        if (change === "pause" && row.state === "halted") throw notRunning(row.state);
        const isPlatform = context.caller.scope === "system";
        if (row.held_by_platform && !isPlatform && change !== "cancel") throw heldByPlatform();
        if (change === "resume") await acceptOrRefuse(tx, row, acceptFailures);
        row.held_by_platform = isPlatform && row.partner_id !== null && change === "pause";
        row.state = wanted.to;
        if (change !== "pause") row.reason = null;
        if (change === "complete") await complete(tx, deps, context, row);
        return { action: change, ...(change === "resume" ? { details: { acceptFailures } } : {}) };
      });
    },
  };
}

/** The version becomes the target of the owner's devices: promoted by the platform, pinned by a partner. */
async function complete(tx: Tx, { plan, now }: RolloutDeps, context: CallContext, row: ShownRollout): Promise<void> {
  const { version, component, partner_id: partnerId } = row;
  if (partnerId === null) await promoteVersion(tx, context, { version, component, plan }, now());
  else await pinForPartner(tx, context, { ...row, partnerId }, plan, now());
}

const altered = (
  deps: RolloutDeps,
  context: CallContext,
  id: string,
  change: (tx: Tx, row: ShownRollout) => Promise<RolloutChange>,
) => {
  const alteration = { context, service: asService(context), by: visibleTo(context), id };
  const checked = (tx: Tx, row: ShownRollout) => {
    requireWholePartner(context);
    return change(tx, row);
  };
  return alterRollout(deps, alteration, checked, async (tx, row) => ({
    rollout: await shownTo(deps, tx, context, row),
  }));
};

const notRunning = (state: string) =>
  new AppError("rollout_not_running", `The rollout is ${state}`, { facts: { state } });

const heldByPlatform = () =>
  new AppError("rollout_not_running", "The platform has paused the rollout", { facts: { heldByPlatform: true } });
