import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, clampPage } from "@muster/kit";
import type { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { callContext } from "@muster/rpc";
import { requirePermission } from "@muster/service";
import { existingRollout } from "../commands/alter-rollout.ts";
import {
  bucketSecondsOf,
  expectedEnd,
  listAttempts,
  progressOf,
  type WaveCount,
  waveCounts,
} from "../store/progress.ts";
import { haltedParts } from "../store/rollout-parts.ts";
import { listRollouts, type ShownRollout } from "../store/rollouts.ts";
import { asService, visibleTo } from "./guards.ts";
import { rolloutChanges } from "./rollout-changes.ts";
import { rolloutCreation, rolloutPreview } from "./rollout-creation.ts";
import { rolloutMessage } from "./rollout-message.ts";
import { type RolloutDeps, shownTo } from "./rollout-shown.ts";
import { attemptMessage } from "./update.ts";

type Handlers = ServiceImpl<typeof RolloutService>;

/** Guards of releases, and staged rollouts of the platform and of partners. */
export function rolloutService(deps: RolloutDeps): ServiceImpl<typeof RolloutService> {
  return { ...rolloutReads(deps), ...rolloutPreview(deps), ...rolloutCreation(deps), ...rolloutChanges(deps) };
}

function rolloutReads(
  deps: RolloutDeps,
): Pick<Handlers, "listRollouts" | "getRollout" | "getProgress" | "listDevices"> {
  const { db, now, ramp } = deps;
  return {
    async listRollouts({ page, component, state, kind, partnerId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const who = asService(context);
      const visible = visibleTo(context);
      if (visible.partnerId !== null && partnerId !== "" && partnerId !== visible.partnerId) throw partnerNotFound();
      const wanted = { component, state, kind, partnerId };
      const { rows, info } = await listRollouts(db, who, wanted, visible, clampPage(page ?? {}));
      const ids = rows.map(({ id }) => id);
      const halted = await db.tx(who, (tx) => haltedParts(tx, ids), { readOnly: true });
      return { rollouts: rows.map((row) => rolloutMessage(row, context, { halted, ramp })), page: info };
    },

    async getRollout({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const read = async (tx: Tx) => ({
        rollout: await shownTo(deps, tx, context, await existingRollout(tx, id, visibleTo(context))),
      });
      return db.tx(asService(context), read, { readOnly: true });
    },

    async getProgress({ id, bucketSeconds }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      return db.tx(
        asService(context),
        async (tx) => {
          const row = await existingRollout(tx, id, visibleTo(context));
          const seconds = await bucketSecondsOf(tx, row.id, bucketSeconds);
          const buckets = await progressOf(tx, row.id, seconds);
          const end = expectedEnd(row, buckets, seconds, now());
          return {
            rollout: await shownTo(deps, tx, context, row),
            bucketSeconds: seconds,
            buckets: buckets.map(({ at, ...counts }) => ({ at: timestampFromDate(at), ...counts })),
            ...(end ? { expectedEnd: timestampFromDate(end) } : {}),
            waves: wavesOf(row, await waveCounts(tx, row.id)),
          };
        },
        { readOnly: true },
      );
    },

    async listDevices({ id, page, state, reason }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const row = await db.tx(asService(context), (tx) => existingRollout(tx, id, visibleTo(context)), {
        readOnly: true,
      });
      // Read as the caller, who sees only the devices of the caller's organizations.
      const { rows, info } = await listAttempts(
        db,
        context,
        { rolloutId: row.id, state, reason },
        clampPage(page ?? {}),
      );
      return { attempts: rows.map(attemptMessage), page: info };
    },
  };
}

/** The rings as waves, with what came of their offers. */
function wavesOf({ rings, open_rings: openRings }: ShownRollout, counts: readonly WaveCount[]) {
  return rings.map(({ name, devices = 0 }, at) => {
    const found = counts.find(({ wave }) => wave === at);
    const { offered, inFlight, succeeded, failed } = found ?? { offered: 0, inFlight: 0, succeeded: 0, failed: 0 };
    return { name, isOpen: at < openRings, devices, offered, inFlight, succeeded, failed };
  });
}

const partnerNotFound = () => new AppError("partner_not_found", "Partner not found");
