import type { Tx } from "@muster/db";
import { type CallContext, isUuid } from "@muster/kit";
import { auditDevice, type DeviceContext, emitDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import type { DeviceFields } from "../rules/device.ts";
import { requireAllSites } from "../rules/guards.ts";
import { deviceDecommissioned, deviceNotFound, siteNotFound } from "../rules/refusals.ts";
import { countDown } from "../store/device-counts.ts";
import { holdSite } from "../store/device-scope.ts";
import { type DeviceRow, deviceFields, lockDevice, markDecommissioned, updateDevice } from "../store/devices.ts";

/**
 * Writes these fields of a device, with its event and its audit row. Throws `device_not_found`, `site_not_found`,
 * `site_restricted` and `device_decommissioned`.
 */
export async function changeDevice(
  tx: Tx,
  context: DeviceContext,
  id: string,
  change: Partial<DeviceFields>,
  at: Date,
): Promise<DeviceRow> {
  const { caller } = context;
  // The site before the device, as a site's deletion locks them.
  const siteOrg = change.siteId ? await holdSite(tx, caller, change.siteId) : null;
  const stored = isUuid(id) ? await lockDevice(tx, caller, id) : null;
  if (!stored) throw deviceNotFound();
  if (stored.status === "decommissioned") throw deviceDecommissioned();
  checkMove(context, stored, change, siteOrg);
  const before = deviceFields(stored);
  const after = { ...before, ...change };
  const updated = await updateDevice(tx, caller, stored.id, after, at);
  emitDevice(tx, context, "updated", updated);
  auditDevice(tx, context, { action: "device.update", row: updated, details: changesBetween(before, after) }, at);
  return updated;
}

/** Decommissions a device, with its event and its audit row; a repeat changes nothing. Throws `device_not_found`. */
export async function decommissionDevice(tx: Tx, context: DeviceContext, id: string, at: Date): Promise<void> {
  const stored = isUuid(id) ? await lockDevice(tx, context.caller, id) : null;
  if (!stored) throw deviceNotFound();
  // A repeat finds its work done.
  if (stored.status === "decommissioned") return;
  const gone = await markDecommissioned(tx, context.caller, stored.id, at);
  await countDown(tx, gone.org_id);
  emitDevice(tx, context, "decommissioned", gone);
  const details = changesBetween({ status: stored.status }, { status: gone.status });
  auditDevice(tx, context, { action: "device.delete", row: gone, details }, at);
}

/** A device moves within its organization; a user limited to sites cannot move it out of all of them. */
function checkMove(
  context: CallContext,
  stored: DeviceRow,
  change: Partial<DeviceFields>,
  siteOrg: string | null,
): void {
  if (change.siteId === undefined) return;
  if (change.siteId === null) requireAllSites(context);
  else if (siteOrg !== stored.org_id) throw siteNotFound();
}
