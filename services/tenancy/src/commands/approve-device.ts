import type { Database, Tx } from "@muster/db";
import { type CallContext, isUuid } from "@muster/kit";
import { auditDevice, type DeviceContext, emitDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import { deviceDecommissioned, deviceNotFound, deviceNotQuarantined } from "../rules/refusals.ts";
import { countDown } from "../store/device-counts.ts";
import {
  type DeviceRow,
  deviceFields,
  findDeviceById,
  findHardwareOwner,
  lockDevice,
  markApproved,
  markDecommissioned,
} from "../store/devices.ts";
import { inherit, lockReplaced, retire } from "./replace-device.ts";

type Deps = { db: Database; now: () => Date };

/** `merge` is `replace`, and the device takes the place of the one that it replaces. */
export type Approval = { id: string; replace: boolean; merge: boolean };

/**
 * Ends a device's quarantine; with `replace` or `merge` the device that had its hardware id is decommissioned
 * (docs/decisions/0021-identity-leads-enrollment-one-trusted-device-per-machine.md). A device that is not quarantined
 * stays unchanged. Throws `device_not_found` and `device_decommissioned`.
 */
export function approveDevice({ db, now }: Deps, context: CallContext, approval: Approval): Promise<DeviceRow> {
  const at = now();
  return db.tx(context, (tx) => approveIn(tx, context, approval, at), { retry: true });
}

/** As approveDevice, within a transaction. */
export async function approveIn(
  tx: Tx,
  context: DeviceContext,
  { id, replace, merge }: Approval,
  at: Date,
): Promise<DeviceRow> {
  const stored = await lockOne(tx, context, id);
  if (stored.status !== "quarantined") return stored;
  const ownerId = stored.hardware_id && (await findHardwareOwner(tx, stored.org_id, stored.hardware_id));
  const retires = replace || merge;
  const replaced = ownerId && retires ? await retireOwner(tx, context, ownerId, stored, at) : null;
  const trusted = await markApproved(tx, context.caller, stored.id, Boolean(ownerId) && !retires, at);
  const approved = replaced && merge ? await inherit(tx, context.caller, { device: trusted, ...replaced }) : trusted;
  emitDevice(tx, context, "updated", approved);
  const details = changesBetween(reviewed(stored), reviewed(approved));
  auditDevice(tx, context, { action: "device.update", row: approved, details }, at);
  return approved;
}

/**
 * Decommissions a quarantined device: its agent is refused from now on. Throws `device_not_found`,
 * `device_decommissioned` and `device_not_quarantined`.
 */
export async function rejectDevice({ db, now }: Deps, context: CallContext, id: string): Promise<void> {
  const at = now();
  await db.tx(context, (tx) => rejectIn(tx, context, id, at));
}

/** As rejectDevice, within a transaction. */
export async function rejectIn(tx: Tx, context: DeviceContext, id: string, at: Date): Promise<void> {
  const stored = await lockOne(tx, context, id);
  if (stored.status !== "quarantined") throw deviceNotQuarantined();
  const gone = await markDecommissioned(tx, context.caller, stored.id, at);
  await countDown(tx, gone.org_id);
  emitDevice(tx, context, "decommissioned", gone);
  const changes = changesBetween({ status: stored.status }, { status: gone.status });
  auditDevice(tx, context, { action: "device.delete", row: gone, details: { ...changes, reason: "rejected" } }, at);
}

async function lockOne(tx: Tx, { caller }: CallContext, id: string): Promise<DeviceRow> {
  const stored = isUuid(id) ? await lockDevice(tx, caller, id) : null;
  if (!stored) throw deviceNotFound();
  if (stored.status === "decommissioned") throw deviceDecommissioned();
  return stored;
}

/**
 * Decommissions the device that had the hardware id until now. Throws `device_not_found` when the caller has no access
 * to it.
 */
async function retireOwner(tx: Tx, context: DeviceContext, ownerId: string, by: DeviceRow, at: Date) {
  const seen = await findDeviceById(tx, context.caller, ownerId);
  const replaced = seen && (await lockReplaced(tx, context.caller, { id: ownerId, siteId: seen.site_id }));
  if (!replaced) throw deviceNotFound();
  // Decommissioned meanwhile.
  if (replaced.device.status === "decommissioned") return null;
  await retire(tx, context, replaced.device, by, at);
  return { from: replaced.device, siteId: replaced.siteId };
}

const reviewed = (row: DeviceRow) => ({
  ...deviceFields(row),
  status: row.status,
  quarantineReason: row.quarantine_reason,
  labels: row.labels,
});
