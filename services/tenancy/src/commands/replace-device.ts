import type { Tx } from "@muster/db";
import type { Caller } from "@muster/kit";
import { auditDevice, type DeviceContext, emitDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import { countDown } from "../store/device-counts.ts";
import { holdSite } from "../store/device-scope.ts";
import { copyAssignment, type DeviceRow, lockDevice, markDecommissioned } from "../store/devices.ts";

/**
 * The trusted device with that id, locked, and its site, held: what a reinstalled machine may replace. The site is
 * locked first, as a site's deletion locks them. Null when the caller has no access to the device.
 */
export async function lockReplaced(
  tx: Tx,
  caller: Caller,
  { id, siteId }: { id: string; siteId: string | null },
): Promise<{ device: DeviceRow; siteId: string | null } | null> {
  const held = siteId === null || (await holdSite(tx, caller, siteId)) === null ? null : siteId;
  const device = await lockDevice(tx, caller, id);
  return device && { device, siteId: device.site_id === held ? held : null };
}

/** Decommissions a locked device in favour of another one of the same machine. */
export async function retire(
  tx: Tx,
  context: DeviceContext,
  owner: DeviceRow,
  by: Pick<DeviceRow, "id" | "hostname">,
  at: Date,
): Promise<void> {
  const gone = await markDecommissioned(tx, context.caller, owner.id, at);
  await countDown(tx, gone.org_id);
  emitDevice(tx, context, "decommissioned", gone);
  const changes = changesBetween({ status: owner.status }, { status: gone.status });
  const details = { ...changes, replacedBy: by.id, replacedByName: by.hostname };
  auditDevice(tx, context, { action: "device.delete", row: gone, details }, at);
}

/**
 * Gives a locked device the place of the one that it replaces: site, groups, labels that it lacks, update setting, and
 * the name if people gave it. Returns the device after it.
 */
export async function inherit(
  tx: Tx,
  caller: Caller,
  { device, from, siteId }: { device: DeviceRow; from: DeviceRow; siteId: string | null },
): Promise<DeviceRow> {
  const isNamed = from.agent_hostname !== null && from.hostname !== from.agent_hostname;
  await copyAssignment(tx, from.id, device.id, {
    siteId: siteId ?? device.site_id,
    hostname: isNamed ? from.hostname : device.hostname,
    autoUpdateEnabled: from.auto_update_enabled,
    labels: { ...from.labels, ...device.labels },
  });
  const after = await lockDevice(tx, caller, device.id);
  if (!after) throw new Error("a device that was locked has gone");
  return after;
}
