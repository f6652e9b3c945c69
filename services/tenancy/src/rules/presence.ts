import { createCounts } from "@muster/kit";
import {
  type FactColumns,
  factFields,
  factsAfter,
  factsOfRow,
  isAnnouncementDue,
  type ReportedFacts,
} from "./reported-facts.ts";

/** Heartbeats a device may miss before it counts as offline. */
export const missedMax = 3;
/** Bytes of an agent's report besides its versions, as JSON. */
export const maxReportedBytes = 8 * 1024;
/** Longest pause of the watch after which silent devices are still considered offline. */
export const watchPauseSeconds = 10;

/**
 * The organizations, or else the partners, that own half or more of these devices: the next batch of the watch is of
 * others.
 */
export function crowdOf(devices: readonly { org_id: string; partner_id: string }[]): string[] {
  for (const owner of ["org_id", "partner_id"] as const) {
    const owned = createCounts();
    for (const device of devices) owned.add(device[owner], 1);
    const crowd = [...owned.keys()].filter((id) => owned.of(id) * 2 >= devices.length);
    if (crowd.length > 0) return crowd;
  }
  return [];
}

/** What of a device's presence matters to a heartbeat. */
export type Presence = FactColumns & { status: string };

/** What a device updates itself to; null while it does not. */
export type Updating = { updating_component: string | null; updating_version: string | null };

/** An agent's report; null for fields that it omitted. */
export type Said = ReportedFacts & {
  /** Its update has ended without the new version. */
  updateEnded: boolean;
};

/**
 * Status after a heartbeat: an offline device becomes online, an updating one when it runs the target version or
 * reports a failed update. A quarantined one stays quarantined.
 */
export function statusAfterHeartbeat(before: Presence & Updating, said: Said): string {
  if (before.status === "updating") return hasEndedUpdate(before, said) ? "online" : "updating";
  return before.status === "offline" ? "online" : before.status;
}

function hasEndedUpdate({ updating_component: component, updating_version: version }: Updating, said: Said): boolean {
  if (said.updateEnded || component === null) return true;
  const now =
    { agent: said.agentVersion, watchdog: said.watchdogVersion, helper: said.helperVersion }[component] ?? null;
  // As releases name versions: without a leading v and without build metadata.
  return now !== null && now.replace(/^v/, "").replace(/\+.*$/s, "") === version;
}

/** Whether a heartbeat reports nothing except that the device is online. */
export function saysNothingNew(
  before: Presence & Updating & { last_ip_address: string | null; last_seen_at: Date | null },
  said: Said & { clientAddress: string | null },
  now: Date,
): boolean {
  return (
    (before.status === "online" || before.status === "quarantined" || before.status === "updating") &&
    statusAfterHeartbeat(before, said) === before.status &&
    before.last_seen_at !== null &&
    (said.clientAddress === null || before.last_ip_address === said.clientAddress) &&
    hasSameFacts(before, said) &&
    !isAnnouncementDue(before, now)
  );
}

function hasSameFacts(before: Presence, said: Said): boolean {
  if (said.hostname !== null && said.hostname !== before.agent_hostname) return false;
  const [facts, after] = [factsOfRow(before), factsAfter(before, said)];
  return factFields.every((field) => after[field] === facts[field]);
}
