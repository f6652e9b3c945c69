import { connectedOf, type DeviceCounts } from "./connected.ts";
import type { Tone } from "./tone.ts";

/** What of an owner's devices needs a look: a status, how many have it, and how bad that is. */
export type OwnerNeed = { status: "offline" | "quarantined"; words: string; tone: Extract<Tone, "warn" | "bad"> };

/** That more devices are offline than usual, and that some wait for approval; none for an owner that is well. */
export function ownerNeeds(counts: DeviceCounts | undefined): OwnerNeed[] {
  if (!counts) return [];
  const { offline, quarantined } = counts;
  const { tone } = connectedOf(counts);
  return [
    ...(tone ? [{ status: "offline", words: `${offline.toLocaleString()} offline`, tone } as const] : []),
    ...(quarantined > 0
      ? [{ status: "quarantined", words: `${quarantined.toLocaleString()} to approve`, tone: "warn" } as const]
      : []),
  ];
}
