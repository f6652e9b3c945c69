import type { Database, Tx } from "@muster/db";
import { type CallContext, isUuid } from "@muster/kit";
import { auditDevice, emitDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import { deviceDecommissioned, deviceNotFound } from "../rules/refusals.ts";
import { countDown } from "../store/device-counts.ts";
import { type DeviceRow, findHardwareOwner, lockDevice, markApproved, markDecommissioned } from "../store/devices.ts";

type Deps = { db: Database; now: () => Date };

/**
 * Ends a device's quarantine; with `replace` the device that had its hardware id is decommissioned
 * (docs/decisions/0021-identity-leads-enrollment-one-trusted-device-per-machine.md). Throws `device_not_found` and
 * `device_decommissioned`.
 */
export async function approveDevice(
  { db, now }: Deps,
  context: CallContext,
  { id, replace }: { id: string; replace: boolean },
): Promise<DeviceRow> {
  const at = now();
  return db.tx(
    context,
    async (tx) => {
      const stored = isUuid(id) ? await lockDevice(tx, context.caller, id) : null;
      if (!stored) throw deviceNotFound();
      if (stored.status === "decommissioned") throw deviceDecommissioned();
      if (stored.status !== "quarantined") return stored;
      const ownerId = stored.hardware_id && (await findHardwareOwner(tx, stored.org_id, stored.hardware_id));
      if (ownerId && replace) await retire(tx, context, ownerId, stored, at);
      const approved = await markApproved(tx, context.caller, stored.id, Boolean(ownerId) && !replace, at);
      emitDevice(tx, context, "updated", approved);
      const details = changesBetween(quarantineOf(stored), quarantineOf(approved));
      auditDevice(tx, context, { action: "device.update", row: approved, details }, at);
      return approved;
    },
    { retry: true },
  );
}

/**
 * Decommissions the device that had the hardware id until now. Throws `device_not_found` when the caller has no access
 * to it.
 */
async function retire(tx: Tx, context: CallContext, ownerId: string, by: DeviceRow, at: Date): Promise<void> {
  const owner = await lockDevice(tx, context.caller, ownerId);
  if (!owner) throw deviceNotFound();
  const gone = await markDecommissioned(tx, context.caller, owner.id, at);
  await countDown(tx, gone.org_id);
  emitDevice(tx, context, "decommissioned", gone);
  const details = { ...changesBetween({ status: owner.status }, { status: gone.status }), replacedBy: by.id };
  auditDevice(tx, context, { action: "device.delete", row: gone, details }, at);
}

const quarantineOf = ({ status, quarantine_reason }: DeviceRow) => ({ status, quarantineReason: quarantine_reason });
