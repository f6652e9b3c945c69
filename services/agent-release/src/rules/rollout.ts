import { createHash } from "node:crypto";
import { exceedsShare } from "./failure-bound.ts";

export type RolloutState = "running" | "paused" | "halted" | "completed" | "cancelled";

export type Limits = { maxInFlight: number; haltFailures: number; haltPercent: number };
export type Counters = { inFlight: number; succeeded: number; failed: number; failuresBeforeResume: number };

export const guardLimits = { maxInFlight: 1_000, haltFailures: 50, haltPercent: 3, soakSeconds: 120 } as const;

/** Upper limit of failures: more of them halt a rollout, whatever their share. */
export function threshold(
  { haltFailures, haltPercent }: Limits,
  { succeeded, failed, failuresBeforeResume }: Counters,
): number {
  return Math.max(haltFailures, Math.floor((haltPercent * (succeeded + failed - failuresBeforeResume)) / 100));
}

/**
 * Whether the failures halt a rollout or one of its parts: their share is above `haltPercent` beyond doubt, or they are
 * more than the threshold.
 */
export function isOverThreshold(limits: Limits, counters: Counters): boolean {
  const failed = counters.failed - counters.failuresBeforeResume;
  return exceedsShare(failed, failed + counters.succeeded, limits.haltPercent) || failed > threshold(limits, counters);
}

/**
 * `startBudget`: updates that a part may have in flight before its first success; each success doubles it; 0: any
 * number.
 */
export type Ramp = { startBudget: number; firstDeviceAlone: boolean };

const doublingsMax = 30;

/** Offers that a part may be made now by its successes. */
export function rampOf({ startBudget }: Ramp, { inFlight, succeeded }: Counters): number {
  if (startBudget === 0) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, startBudget * 2 ** Math.min(succeeded, doublingsMax) - inFlight);
}

/**
 * Offers that may be made now to all devices together: even if all updates in flight fail, fewer than twice the
 * threshold fail, or half as many as have succeeded.
 */
export function budgetOf(limits: Limits, counters: Counters, ramp: Ramp): number {
  const failuresMax = Math.max(2 * threshold(limits, counters) - 1, Math.floor(counters.succeeded / 2));
  const exposure = failuresMax - counters.failed + counters.failuresBeforeResume;
  const left = Math.max(0, Math.min(limits.maxInFlight, exposure) - counters.inFlight);
  return Math.min(left, rampOf(ramp, counters));
}

export type PartKind = "organization" | "platform";
export type Part = Counters & {
  kind: PartKind;
  /** Whether an update of the part has ended. */
  firstEnded: boolean;
  isHalted: boolean;
};

/** Offers that may be made now to the devices of one organization, or of one platform. */
export function partBudgetOf(kind: "guard" | "staged", part: Part, ramp: Ramp): number {
  if (part.isHalted) return 0;
  const isAlone = ramp.firstDeviceAlone && kind === "staged" && part.kind === "platform" && !part.firstEnded;
  if (isAlone) return part.inFlight === 0 ? 1 : 0;
  return rampOf(ramp, part);
}

/** Whether enough devices of the open rings have succeeded for the next ring to open. */
export function isNextWaveDue(of: {
  rings: readonly { devices?: number }[];
  openRings: number;
  percent: number;
  succeeded: number;
  waveSuccessPercent: number | null;
}): boolean {
  const { rings, openRings, percent, succeeded, waveSuccessPercent } = of;
  if (waveSuccessPercent === null || openRings === 0 || openRings >= rings.length) return false;
  const devices = rings.slice(0, openRings).reduce((sum, ring) => sum + (ring.devices ?? 0), 0);
  return succeeded > 0 && succeeded >= (devices * percent * waveSuccessPercent) / 10_000;
}

/** The parts of a rollout that a device belongs to. */
export function partsOfDevice({ orgId, platform }: { orgId: string; platform: string }) {
  return [
    { kind: "organization" as const, name: orgId },
    { kind: "platform" as const, name: platform },
  ];
}

/** Whether the device is within this percentage: a higher percentage includes all devices of a lower one. */
export function isInBucket(rolloutId: string, deviceId: string, percent: number): boolean {
  if (percent >= 100) return true;
  const hash = createHash("sha256").update(rolloutId).update(deviceId).digest().readUInt32BE(0);
  return hash < (percent * 2 ** 32) / 100;
}
