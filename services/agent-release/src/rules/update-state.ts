import { components } from "./component.ts";
import { backOffUntil, type GateInput } from "./gate.ts";
import { findTarget } from "./target.ts";
import { compareVersions, parseVersion } from "./version.ts";

/** How a device stands to its targets; the worst of its components counts. */
export type UpdateState = "failed" | "behind" | "ahead" | "current";

/**
 * Whether a component of a device has failed to update and waits, runs an older or a newer version than its target, or
 * all run theirs, whatever policy, window and rollouts permit now. Null when no component has a target to compare with.
 */
export function updateStateOf(input: GateInput): UpdateState | null {
  const { device, attempts, backOffMs, now } = input;
  if (device.status === "quarantined" || device.status === "decommissioned") return null;
  const states = new Set<UpdateState>();
  for (const component of components) {
    const running = parseVersion(device.versions[component] ?? "");
    const { found } = findTarget(input, component);
    if (running === null || found === null) continue;
    const order = compareVersions(running, found.release.version);
    const until = order < 0 ? backOffUntil(attempts, component, found.release.id, backOffMs) : null;
    if (until !== null && until > now) states.add("failed");
    else states.add(order < 0 ? "behind" : order > 0 ? "ahead" : "current");
  }
  const worst = (["failed", "behind", "ahead", "current"] as const).find((state) => states.has(state));
  return worst ?? null;
}
