import type { Component } from "./component.ts";
import {
  type Catalogue,
  type Device,
  haltOf,
  hasExpired,
  type PlannedRelease,
  type PlannedRollout,
  stoppedBy,
} from "./plan.ts";
import { isInRing } from "./ring.ts";
import { isInBucket } from "./rollout.ts";
import type { Merged } from "./settings.ts";
import { compareVersions } from "./version.ts";

export type TargetSource = "organization" | "partner" | "latest" | "rollout" | "minimum";

export type TargetInput = { device: Device; merged: Merged; catalogue: Catalogue; now: Date };

export type Found = { release: PlannedRelease; rollout: PlannedRollout; source: TargetSource };
export type Exclusion = {
  rule: "not_in_ring" | "not_in_bucket" | "halted";
  release: PlannedRelease;
  rollout: PlannedRollout;
};

type Target = { found: Found | null; exclusion: Exclusion | null };

/**
 * The organization's pin, else the newest staged rollout that covers the device, else the partner's pin, else the
 * promoted release. A partner that is pinned is reached by its own rollouts alone.
 */
export function findTarget(input: TargetInput, component: Component): Target {
  const { promotedId, releases } = input.catalogue[component];
  const pin = pinOf(input.merged, component);
  if (pin === null) {
    const promoted = releases.find(({ id }) => id === promotedId) ?? null;
    return withRollouts(input, releases, promoted && { release: promoted, rollout: promoted.guard, source: "latest" });
  }
  const release = releases.find(({ version }) => version === pin.version);
  const found = release ? { release, rollout: release.guard, source: pin.source } : null;
  if (found === null || pin.source === "organization") return { found, exclusion: null };
  return withRollouts(input, releases, found);
}

const pinFields = { agent: "agentTarget", watchdog: "watchdogTarget" } as const;

type Pin = { version: string; source: "organization" | "partner" };

/** The version to which a device's owners have pinned a component; null for none. The helper has no pin. */
export function pinOf({ settings, sources }: Merged, component: Component): Pin | null {
  if (component === "helper") return null;
  const field = pinFields[component];
  const version = settings[field];
  if (version === "latest") return null;
  return { version, source: sources[field] === "organization" ? "organization" : "partner" };
}

/** The newest staged rollout that covers the device and leads beyond `otherwise`, else that. */
function withRollouts(input: TargetInput, releases: readonly PlannedRelease[], otherwise: Found | null): Target {
  const { device, now } = input;
  const stagedOf = ({ staged, ofPartners }: PlannedRelease) => {
    const own = ofPartners.get(device.partnerId) ?? [];
    return otherwise?.source === "partner" ? own : [...staged, ...own];
  };
  const back = wayBack(releases, stagedOf, device, now);
  if (back !== null) return { found: back, exclusion: null };
  let exclusion: Exclusion | null = null;
  for (const release of releases) {
    if (otherwise && compareVersions(release.version, otherwise.release.version) <= 0) break;
    if (release.yanked || release.untrusted !== null || hasExpired(release, now)) continue;
    for (const rollout of stagedOf(release)) {
      if (rollout.state === "completed" || rollout.state === "cancelled") continue;
      const rule = refusalOf(rollout, device);
      if (rule === null) return { found: { release, rollout, source: "rollout" }, exclusion };
      exclusion ??= { rule, release, rollout };
    }
  }
  return { found: otherwise, exclusion };
}

/** The newest release to which a rollout with a rollback note leads the device, whatever is promoted; null for none. */
function wayBack(
  releases: readonly PlannedRelease[],
  stagedOf: (release: PlannedRelease) => readonly PlannedRollout[],
  device: Device,
  now: Date,
): Found | null {
  for (const release of releases) {
    if (stoppedBy(release, now) !== null) continue;
    const rollout = stagedOf(release).find((each) => Boolean(each.rollback) && refusalOf(each, device) === null);
    if (rollout) return { release, rollout, source: "rollout" };
  }
  return null;
}

function refusalOf(rollout: PlannedRollout, device: Device): Exclusion["rule"] | null {
  if (!isInRing(rollout.rings, rollout.openRings, device, device.versions.agent)) return "not_in_ring";
  if (!isInBucket(rollout.id, device.id, rollout.percent)) return "not_in_bucket";
  return haltOf(rollout, device) === null ? null : "halted";
}
