import { compareVersions, parseVersion } from "./version.ts";

export type OpenAttempt = {
  state: "offered" | "returned";
  version: string;
  fromVersion: string;
  returnedAt: Date | null;
};

/** A heartbeat's report about the component that is being updated. */
export type Said = {
  current: string | null;
  report: { state: string; error: string } | null;
  stopped?: DeviceStop | null;
};

/** Whether a device of this status may have no update at all. */
export const isIneligible = (status: string): boolean => status === "quarantined" || status === "decommissioned";

/** Why a device is to be offered nothing more, whatever it has started: its updates are off, or it may have none. */
export type DeviceStop = "auto_update_off" | "not_eligible";

export function deviceStop(device: { status: string; autoUpdateEnabled: boolean }): DeviceStop | null {
  if (isIneligible(device.status)) return "not_eligible";
  return device.autoUpdateEnabled ? null : "auto_update_off";
}

/** Whether a report says that the agent has started: from then on its offer is not taken back. */
export function hasStarted(report: { state: string } | null): boolean {
  return report?.state === "downloading" || report?.state === "installing";
}

export type Move =
  /** Runs the new version; the soak begins. */
  | { to: "returned" }
  | { to: "succeeded" }
  | { to: "failed"; reason: string }
  | { to: "deferred" }
  | { to: "cancelled"; reason: string };

/** Times a locked file is offered again before it counts as a failure. */
export const deferredMax = 10;
/**
 * Milliseconds after its end in which a failed or withdrawn attempt becomes a success when the device runs the target.
 */
export const lateReturnMs = 24 * 3_600_000;

/**
 * Where a heartbeat moves an open attempt; null when it stays as it is. `deferred` counts earlier locked tries of the
 * release.
 */
export function moveAttempt(
  attempt: OpenAttempt,
  said: Said,
  { now, soakSeconds, deferred }: { now: Date; soakSeconds: number; deferred: number },
): Move | null {
  const current = said.current === null ? null : parseVersion(said.current);
  const state = said.report?.state ?? "";
  if (state === "failed" || state === "rolled_back")
    return { to: "failed", reason: reasonOf(state, said.report?.error) };
  // A device that already runs the new version has no lock: a late report changes nothing, and its version decides.
  if (state === "locked" && attempt.state === "offered") {
    return deferred + 1 >= deferredMax ? { to: "failed", reason: "locked" } : { to: "deferred" };
  }
  if (current === attempt.version) {
    if (attempt.state === "offered") return soakSeconds === 0 ? { to: "succeeded" } : { to: "returned" };
    const since = now.getTime() - (attempt.returnedAt?.getTime() ?? now.getTime());
    return since >= soakSeconds * 1_000 ? { to: "succeeded" } : null;
  }
  if (attempt.state === "offered" && said.stopped) return { to: "cancelled", reason: said.stopped };
  if (current === null) return null;
  const from = parseVersion(attempt.fromVersion);
  if (attempt.state === "returned") {
    if (current === from) return { to: "failed", reason: "rolled_back" };
    return compareVersions(current, attempt.version) < 0
      ? { to: "failed", reason: "rolled_back" }
      : { to: "cancelled", reason: "another_version" };
  }
  if (current === from) return null;
  if (from !== null && compareVersions(current, from) < 0) return { to: "failed", reason: "older_version" };
  return { to: "cancelled", reason: "another_version" };
}

/** What agents may name as the reason of a failure; anything else is the state itself. */
const reasons = [
  "bad_signature",
  "bad_digest",
  "bad_size",
  "older_counter",
  "expired",
  "wrong_component",
  "download_failed",
];

function reasonOf(state: string, error: string | undefined): string {
  return reasons.find((each) => each === error) ?? state;
}
