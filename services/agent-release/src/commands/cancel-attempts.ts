import type { Tx } from "@muster/db";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { endAttempts, lockOpenOf } from "../store/attempts.ts";
import { lockCounts } from "./rollout-counts.ts";

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
  const counts = await lockCounts(tx, open);
  for (const attempt of open) {
    const rollout = counts.rollouts.get(attempt.rollout_id);
    const parts = counts.partsOf(attempt);
    for (const each of [...(rollout ? [rollout] : []), ...parts]) each.in_flight = Math.max(0, each.in_flight - 1);
    for (const part of parts) part.first_ended = true;
  }
  await counts.save(tx, new Date());
}
