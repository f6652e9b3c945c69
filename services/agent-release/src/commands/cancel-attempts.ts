import type { Tx } from "@muster/db";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { endAttempts, lockOpenOf } from "../store/attempts.ts";
import { lockRollouts, updateRollout } from "../store/rollouts.ts";

/**
 * Ends open updates of decommissioned devices in the transaction that consumes their events; they count as no failure.
 */
export async function cancelOfGone(tx: Tx, changes: readonly DeviceChanged[]): Promise<void> {
  const gone = changes.filter(({ status }) => status === "decommissioned").map(({ id }) => id);
  if (gone.length === 0) return;
  const open = await lockOpenOf(tx, gone);
  await endAttempts(
    tx,
    open.map(({ id }) => ({ id, state: "cancelled", reason: "decommissioned" })),
  );
  const now = new Date();
  for (const rollout of await lockRollouts(tx, [...new Set(open.map(({ rollout_id: id }) => id))])) {
    const n = open.filter(({ rollout_id: id }) => id === rollout.id).length;
    await updateRollout(tx, { ...rollout, in_flight: Math.max(0, rollout.in_flight - n) }, now);
  }
}
