import { isIneligible } from "./attempt.ts";
import { backOffUntil, type Decision, type GateInput } from "./gate.ts";
import { compareVersions, parseVersion } from "./version.ts";

/** How a device stands to its targets; the worst of its components counts. */
export type UpdateState = "failed" | "behind" | "ahead" | "current";

const worstFirst: readonly UpdateState[] = ["failed", "behind", "ahead", "current"];

/**
 * Whether a component of a device has failed to update and waits, runs an older or a newer version than its target, or
 * all run theirs, whatever policy, window and rollouts permit now. Null when no component has a target to compare with.
 */
export function updateStateOf(input: GateInput, decisions: readonly Decision[]): UpdateState | null {
  const { status } = input.device;
  if (isIneligible(status)) return null;
  const states = decisions.map((decision) => stateOf(input, decision));
  return worstFirst.find((state) => states.includes(state)) ?? null;
}

function stateOf({ attempts, backOffMs, now }: GateInput, of: Decision): UpdateState | null {
  const { component, current, destination } = of;
  const running = parseVersion(current ?? "");
  if (running === null || destination === null) return null;
  const order = compareVersions(running, destination.version);
  if (order >= 0) return order > 0 ? "ahead" : "current";
  const until = backOffUntil(attempts, component, destination.id, backOffMs);
  return until !== null && until > now ? "failed" : "behind";
}
