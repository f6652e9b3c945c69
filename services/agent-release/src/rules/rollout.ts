import { createHash } from "node:crypto";

export type RolloutState = "running" | "paused" | "halted" | "completed" | "cancelled";

export type Ring = {
  name: string;
  partnerIds: readonly string[];
  orgIds: readonly string[];
  siteIds: readonly string[];
  groupIds: readonly string[];
};

export type Limits = { maxInFlight: number; haltFailures: number; haltPercent: number };
export type Counters = { inFlight: number; succeeded: number; failed: number; failuresBeforeResume: number };

/** What a device belongs to, for rings. */
export type Membership = {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  groupIds: readonly string[];
};

export const guardLimits = { maxInFlight: 1_000, haltFailures: 50, haltPercent: 3, soakSeconds: 120 } as const;

/** Most failures that do not halt a rollout. */
export function threshold(
  { haltFailures, haltPercent }: Limits,
  { succeeded, failed, failuresBeforeResume }: Counters,
): number {
  return Math.max(haltFailures, Math.floor((haltPercent * (succeeded + failed - failuresBeforeResume)) / 100));
}

/** Whether this number of failures halts the rollout. */
export function isOverThreshold(limits: Limits, counters: Counters): boolean {
  return counters.failed - counters.failuresBeforeResume > threshold(limits, counters);
}

/** Offers that may be made now: even if all updates in flight fail, fewer than twice the threshold fail. */
export function budgetOf(limits: Limits, counters: Counters): number {
  const exposure = 2 * threshold(limits, counters) - 1 - counters.failed + counters.failuresBeforeResume;
  return Math.max(0, Math.min(limits.maxInFlight, exposure) - counters.inFlight);
}

/** Whether an open ring includes the device; a rollout without rings is for everybody. */
export function isInRing(rings: readonly Ring[], openRings: number, device: Membership): boolean {
  if (rings.length === 0) return true;
  return rings
    .slice(0, openRings)
    .some(
      ({ partnerIds, orgIds, siteIds, groupIds }) =>
        partnerIds.includes(device.partnerId) ||
        orgIds.includes(device.orgId) ||
        (device.siteId !== null && siteIds.includes(device.siteId)) ||
        device.groupIds.some((id) => groupIds.includes(id)),
    );
}

/** Whether the device is within this percentage: a higher percentage includes all devices of a lower one. */
export function isInBucket(rolloutId: string, deviceId: string, percent: number): boolean {
  if (percent >= 100) return true;
  const hash = createHash("sha256").update(rolloutId).update(deviceId).digest().readUInt32BE(0);
  return hash < (percent * 2 ** 32) / 100;
}
