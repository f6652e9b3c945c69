import { deviceStop } from "./attempt.ts";
import { type Component, components, platformOf } from "./component.ts";
import { type Decision, decide, decideComponent, type GateInput } from "./gate.ts";
import { haltOf, type PlannedRelease, rolloutsFor, stoppedBy } from "./plan.ts";
import { pinOf } from "./target.ts";

/** A device's open attempt, as far as it decides what the next heartbeat is answered. */
export type OpenOffer = {
  component: Component;
  releaseId: string;
  rolloutId: string;
  state: "offered" | "returned";
  /** The agent reported that it has started. */
  isStarted: boolean;
  /** Its deadline has passed. */
  isDue: boolean;
};

/**
 * What becomes of an open attempt: its offer is repeated, not repeated for now, or taken back, which ends the attempt.
 * `none`: there is no open attempt.
 */
export type OpenMove = "repeat" | "withhold" | "withdraw" | "none";
export type Resolved = { decisions: Decision[]; open: OpenMove };

/**
 * What the next heartbeat of a device is answered: until the agent has reported that it began, the gate decides each
 * repeat of an offer. `input.attempts` are the ended ones.
 */
export function resolveOffer(input: GateInput, open: OpenOffer | null): Resolved {
  if (open === null) return { decisions: decide(input), open: "none" };
  const { isStarted, isDue, state, releaseId } = open;
  const others = () => components.map((component) => decideComponent(input, component, component !== open.component));
  if (state === "returned") {
    return { decisions: components.map((component) => decideComponent(input, component, true)), open: "withhold" };
  }
  // Its next heartbeat ends the attempt.
  if (deviceStop(input.device) !== null) return { decisions: decide(input), open: "withdraw" };
  if (isDue && !isPaused(input, open)) return { decisions: inProgress(input, open, others()), open: "withhold" };
  if (isStarted) return started(input, open, others());
  const decisions = others();
  const own = decisions.find(({ component }) => component === open.component);
  // Its own offer is part of a budget that may be full.
  const isOffered = own?.rule === "offered" || own?.rule === "in_flight_cap";
  if (!isOffered || own.target?.id !== releaseId) return { decisions: decide(input), open: "withdraw" };
  return { decisions: inProgress(input, open, decisions), open: "repeat" };
}

/** While its rollout is paused the clock of an attempt stands still. */
function isPaused(input: GateInput, { component, releaseId, rolloutId }: OpenOffer): boolean {
  const release = input.catalogue[component].releases.find(({ id }) => id === releaseId);
  const rollouts = release ? rolloutsFor(release, input.device.partnerId) : [];
  return rollouts.some(({ id, state }) => id === rolloutId && state === "paused");
}

/**
 * An agent that has started is only stopped by what forbids the release or its rollout to everybody, or by a machine
 * that the release has no file for.
 */
function started(input: GateInput, open: OpenOffer, decisions: Decision[]): Resolved {
  const release = input.catalogue[open.component].releases.find(({ id }) => id === open.releaseId);
  // The machine is of another system since it started: there is no file to go on with.
  if (release && !release.platforms.has(platformOf(input.device)))
    return { decisions: decide(input), open: "withdraw" };
  const stop = release ? (stoppedBy(release, input.now) ?? stoppedRollout(release, open, input)) : null;
  const isStopped = release === undefined || stop !== null;
  if (!isStopped) return { decisions: inProgress(input, open, decisions), open: "repeat" };
  const refused = decisions.map((each) =>
    each.component === open.component
      ? { ...each, target: release ?? null, rule: "halted" as const, detail: stop ?? "The version was deleted" }
      : each,
  );
  return { decisions: refused, open: "withhold" };
}

function stoppedRollout(
  release: PlannedRelease,
  { rolloutId, component }: OpenOffer,
  { device, merged, catalogue }: GateInput,
): string | null {
  const rollout = rolloutsFor(release, device.partnerId).find(({ id }) => id === rolloutId);
  // A rollout that has ended is not planned: its version is promoted or pinned, or it was cancelled.
  const isTarget =
    catalogue[component].promotedId === release.id || pinOf(merged, component)?.version === release.version;
  if (!rollout) return isTarget ? null : `The rollout of ${release.version} was cancelled`;
  const halt = haltOf(rollout, device);
  return halt === null ? null : `The rollout of ${release.version} is ${halt}`;
}

function inProgress(input: GateInput, open: OpenOffer, decisions: Decision[]): Decision[] {
  const release = input.catalogue[open.component].releases.find(({ id }) => id === open.releaseId);
  return decisions.map((each) => {
    if (each.component !== open.component) return each;
    const detail = `The update to ${release?.version ?? "another version"} is in progress`;
    return { ...each, target: release ?? each.target, rule: "in_progress" as const, detail, recheckAt: input.now };
  });
}
