import { AppError, validationError } from "@muster/kit";
import { type DeviceFields, type DevicePatch, deviceChange } from "./device.ts";
import { checks } from "./fields.ts";

export const bulkActions = ["update", "decommission", "approve", "merge", "reject"] as const;
export type BulkAction = (typeof bulkActions)[number];

/** Devices of one job; a list counts as many exactly. */
export const bulkDevicesMax = 50_000;
/** Jobs of one tenant that have not ended. */
export const openJobsMax = 10;
/** Ids that are kept of the devices that one error refused. */
const namedDevices = 20;

/** Permission that an action needs besides `devices:write`. */
export const endsDevices = (action: BulkAction): boolean => action !== "update" && action !== "approve";

export type BulkChange = { action: BulkAction; change: Partial<DeviceFields>; expectedCount: number };

/** Paths of an update mask that a job may write: a host name belongs to one device. */
const bulkPaths = ["site_id", "auto_update_enabled"];

/** What a job does; throws `no_updates` or `validation_failed` naming each bad field. */
export function bulkChange(
  input: { action: string; expectedCount: number },
  paths: readonly string[],
  patch: DevicePatch,
): BulkChange {
  const check = checks();
  const action = check.oneOf("action", input.action, bulkActions);
  if (input.expectedCount < 1) check.fail("expectedCount", "At least 1");
  if (action !== "update" && paths.length > 0) check.fail("action", "Only an update has a change");
  check.done();
  const wanted = paths.filter((path) => bulkPaths.includes(path));
  return { action, change: action === "update" ? deviceChange(wanted, patch) : {}, expectedCount: input.expectedCount };
}

/**
 * Throws `device_count_changed` when the number of devices differs by more than 1 % from the one that the caller was
 * shown, and `validation_failed` when there are more than a job takes.
 */
export function requireExpected(count: number, expectedCount: number): void {
  if (count > bulkDevicesMax) {
    throw validationError({ filter: [`Matches more than ${bulkDevicesMax} devices: narrow it`] });
  }
  if (count > 0 && Math.abs(count - expectedCount) * 100 <= expectedCount) return;
  throw new AppError("device_count_changed", "Another number of devices matches the filter now", {
    facts: { expectedCount, count },
  });
}

/** Devices that one error refused, by its code. */
export type BulkFailures = Record<string, { error: string; count: number; deviceIds: string[] }>;

/** The failures with one more, of which at most 20 devices of each code are named. */
export function withFailure(failures: BulkFailures, { code, message }: AppError, deviceId: string): BulkFailures {
  const { count, deviceIds } = failures[code] ?? { count: 0, deviceIds: [] };
  const named = count < namedDevices ? [...deviceIds, deviceId] : deviceIds;
  return { ...failures, [code]: { error: message, count: count + 1, deviceIds: named } };
}
