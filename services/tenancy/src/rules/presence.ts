/** Heartbeats a device may miss before it counts as offline. */
export const missedMax = 3;
/** Bytes of what an agent may say of itself beside its versions, as JSON. */
export const maxReportedBytes = 8 * 1024;
/** Longest pause of the watch that says nothing about the devices. */
export const watchPauseSeconds = 10;

/** What of a device's presence matters to a heartbeat. */
export type Presence = { status: string; agent_version: string; watchdog_version: string | null };

/** Status after a heartbeat: only an offline device becomes another; a quarantined one stays so, an updating one is judged elsewhere. */
export function statusAfterHeartbeat(status: string): string {
  return status === "offline" ? "online" : status;
}

/** What a heartbeat changes beside its time; null when nothing that others are told of. */
export function heartbeatChange(before: Presence, after: Presence): "device.online" | "device.updated" | null {
  if (after.status !== before.status) return "device.online";
  const isSame = after.agent_version === before.agent_version && after.watchdog_version === before.watchdog_version;
  return isSame ? null : "device.updated";
}

/** Whether a heartbeat says nothing but that the device is there. */
export function saysNothingNew(
  before: Presence & { last_ip_address: string | null; last_seen_at: Date | null },
  said: { agentVersion: string; watchdogVersion: string | null; clientAddress: string | null },
): boolean {
  return (
    (before.status === "online" || before.status === "quarantined" || before.status === "updating") &&
    before.last_seen_at !== null &&
    before.agent_version === said.agentVersion &&
    (said.watchdogVersion === null || before.watchdog_version === said.watchdogVersion) &&
    (said.clientAddress === null || before.last_ip_address === said.clientAddress)
  );
}
