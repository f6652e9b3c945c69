import type { Tone } from "./tone.ts";

/** Devices of an owner by status, as its list has them. */
export type DeviceCounts = { online: number; offline: number; updating: number; quarantined: number };
type Connected = { online: number; total: number; tone: Extract<Tone, "warn" | "bad"> | null };

/** Shares of devices that are not connected from which that is worth a look, and from which it is an outage. */
const [warnShare, badShare] = [0.1, 0.5];

/** How many devices are connected, of those that should be: neither decommissioned nor waiting for approval. */
export function connectedOf({ online: quiet, updating, offline }: Omit<DeviceCounts, "quarantined">): Connected {
  const online = quiet + updating;
  const total = online + offline;
  const away = total === 0 ? 0 : offline / total;
  return { online, total, tone: away >= badShare ? "bad" : away >= warnShare ? "warn" : null };
}

/** The same of counts by status, with how many are not connected. */
export function connectedByStatus(
  byStatus: readonly { status: string; count: number }[],
): Connected & { offline: number } {
  const count = (wanted: string) => byStatus.find(({ status }) => status === wanted)?.count ?? 0;
  const offline = count("offline");
  return { ...connectedOf({ online: count("online"), updating: count("updating"), offline }), offline };
}

/** Whether an owner has devices that should be connected, and none of them is. */
export function areAllOffline(byStatus: readonly { status: string; count: number }[]): boolean {
  const { offline, total } = connectedByStatus(byStatus);
  return offline > 0 && offline === total;
}

/** The heading above owners of which about as many devices are away. */
export function outageOf(counts: DeviceCounts): string {
  const { tone, total } = connectedOf(counts);
  if (total === 0) return "No devices";
  return tone === "bad" ? "At least half offline" : tone === "warn" ? "At least a tenth offline" : "Mostly online";
}

type Step = { status: "quarantined" | "offline"; words: string };

/** Devices of an owner to look at, by their status; of both, those that wait: the offline ones have a colour. */
export function stepOf(counts: DeviceCounts): Step | null {
  if (counts.quarantined > 0) {
    return { status: "quarantined", words: `See ${counts.quarantined.toLocaleString()} to approve` };
  }
  return connectedOf(counts).tone !== null ? { status: "offline", words: "See offline devices" } : null;
}
