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
export type DeviceNeed = { key: string; tone: "bad" | "warn"; title: string; sentence: string; isUpdate: boolean };

/** Percentage of the disk from which the machine may stop working. */
const fullPercent = 95;

/** What stands between a device and being well, the worst first; none for one that is well. */
export function deviceNeeds(device: Device, decisions: readonly Decision[]): DeviceNeed[] {
  const offline: DeviceNeed = {
    key: "offline",
    tone: "bad",
    title: "It is offline.",
    sentence: device.lastSeenAt ? `Its last heartbeat was ${device.lastSeenAt}` : "It has never sent a heartbeat",
    isUpdate: false,
  };
  const disk = device.reported?.metrics?.["disk.percent"] ?? 0;
  const full: DeviceNeed = {
    key: "disk",
    tone: "bad",
    title: `Its disk is full to ${Math.round(disk)} %.`,
    sentence: "Logs and updates need room",
    isUpdate: false,
  };
  const needs = [
    ...(device.status === "offline" ? [offline] : []),
    ...(disk >= fullPercent ? [full] : []),
    ...decisions.flatMap((decision) => updateNeed(decision)),
  ];
  return needs.sort((one, other) => Number(one.tone === "warn") - Number(other.tone === "warn"));
}

/** What keeps a program from its newer target, where that is not just a matter of time. */
function updateNeed(decision: Decision): DeviceNeed[] {
  const { component, current, target, detail } = decision;
  const { of, as, tone } = decisionState(decision);
  if (current === null || target === null || current === target) return [];
  if (of !== "held" && of !== "halted" && tone !== "bad") return [];
  return [
    {
      key: component,
      tone: tone === "bad" ? "bad" : "warn",
      title: `The update of the ${component} to ${target} is ${as}.`,
      sentence: detail,
      isUpdate: true,
    },
  ];
}
