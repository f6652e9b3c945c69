import { AppError, validationError } from "@muster/kit";
import { idField } from "./device.ts";
import { checks } from "./fields.ts";

/** Devices that one call adds to a group or removes from it. */
export const maxDevicesPerCall = 1_000;

/** What a creation or a change writes, all of it. */
export type DeviceGroupFields = { name: string; siteId: string | null };
type DeviceGroupInput = { name: string; siteId: string };

/** Paths of an update mask; the organization is none of them. */
export const deviceGroupPaths = ["name", "site_id"] as const;

/** The fields of a new group; throws `validation_failed` naming each bad field. */
export function newDeviceGroup({ name, siteId }: DeviceGroupInput): DeviceGroupFields {
  const check = checks();
  const group = {
    name: check.name("name", name),
    siteId: siteId === "" ? null : idField("siteId", siteId, check),
  };
  check.done();
  return group;
}

/** The masked fields of a change; throws `no_updates` or `validation_failed`. */
export function deviceGroupChange(paths: readonly string[], patch: DeviceGroupInput): Partial<DeviceGroupFields> {
  const requested = deviceGroupPaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const change: Partial<DeviceGroupFields> = {};
  for (const path of requested) {
    if (path === "name") change.name = check.name("name", patch.name);
    if (path === "site_id") change.siteId = patch.siteId === "" ? null : idField("siteId", patch.siteId, check);
  }
  check.done();
  return change;
}

/** Each id once, in ascending order: rows are locked in it. Throws `validation_failed`. */
export function membershipIds(deviceIds: readonly string[]): string[] {
  if (deviceIds.length === 0 || deviceIds.length > maxDevicesPerCall) {
    throw validationError({ deviceIds: [`1 to ${maxDevicesPerCall} devices`] });
  }
  const check = checks();
  const ids = deviceIds.map((id, index) => idField(`deviceIds.${index}`, id, check));
  check.done();
  return [...new Set(ids)].sort();
}
