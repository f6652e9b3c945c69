import type { components } from "@muster/client";
import { decisionState } from "./decision-state.ts";

type Schemas = components["schemas"];
type Decision = Schemas["UpdateDecision"]["components"][number];
type Device = {
  status: string;
  lastSeenAt: string | null;
  reported: { metrics?: Record<string, number> | undefined } | null;
};

/** What of a device needs a look: a title and its sentence, as the API writes it. */
export type DeviceNeed = {
  key: string;
  tone: "bad" | "warn";
  title: string;
  /** Empty where the title says it all. */
  sentence: string;
  isUpdate: boolean;
  /** The rollout whose halt is the need; null for any other. */
  rolloutId: string | null;
};

/** Percentage of the disk from which the machine may stop working. */
const fullPercent = 95;

type Rollout = {
  id: string;
  component: string;
  version: string;
  state: string;
  reason: string | null;
  haltedParts: readonly unknown[];
};

/** The rollout that keeps a program from its target by a halt, which it says the cause of. */
const haltOf = (
  { component, target, rule }: Pick<Decision, "component" | "target" | "rule">,
  rollouts: readonly Rollout[],
): Rollout | null =>
  rule === "halted"
    ? (rollouts.find(
        (each) =>
          each.component === component &&
          each.version === target &&
          (each.state === "halted" || each.haltedParts.length > 0),
      ) ?? null)
    : null;

/**
 * What stands between a device and being well, the worst first; none for one that is well. `rollouts` are those that
 * the user may see.
 */
export function deviceNeeds(
  device: Device,
  decisions: readonly Decision[],
  rollouts: readonly Rollout[] = [],
): DeviceNeed[] {
  const offline: DeviceNeed = {
    key: "offline",
    tone: "bad",
    title: "It is offline.",
    sentence: device.lastSeenAt ? `Its last heartbeat was ${device.lastSeenAt}` : "It has never sent a heartbeat",
    isUpdate: false,
    rolloutId: null,
  };
  const disk = device.reported?.metrics?.["disk.percent"] ?? 0;
  const full: DeviceNeed = {
    key: "disk",
    tone: "bad",
    title: `Its disk is full to ${Math.round(disk)} %.`,
    sentence: "Logs and updates need room",
    isUpdate: false,
    rolloutId: null,
  };
  const needs = [
    ...(device.status === "offline" ? [offline] : []),
    ...(disk >= fullPercent ? [full] : []),
    ...decisions.flatMap((decision) => updateNeed(decision, rollouts)),
  ];
  return needs.sort((one, other) => Number(one.tone === "warn") - Number(other.tone === "warn"));
}

/** Whether more than time keeps a program from its newer target. */
export function needsLook(decision: Pick<Decision, "current" | "target" | "rule">): boolean {
  const { of, tone } = decisionState(decision);
  if (decision.current === null || decision.target === null || decision.current === decision.target) return false;
  return of === "held" || of === "halted" || tone === "bad";
}

/** What keeps a program from its newer target, where that is not just a matter of time. */
function updateNeed(decision: Decision, rollouts: readonly Rollout[]): DeviceNeed[] {
  const { component, target, detail } = decision;
  const { as, tone } = decisionState(decision);
  if (!needsLook(decision)) return [];
  const halt = haltOf(decision, rollouts);
  // Of a part, the detail says why.
  const cause = halt?.state === "halted" ? halt.reason : null;
  // The title has said it.
  const repeats = detail === `The rollout of ${target} is halted`;
  return [
    {
      key: component,
      tone: tone === "bad" ? "bad" : "warn",
      title: `The update of the ${component} to ${target} is ${as}.`,
      sentence: cause ?? (repeats ? "" : detail),
      isUpdate: true,
      rolloutId: halt?.id ?? null,
    },
  ];
}
