import { type Component, platformOf } from "./component.ts";
import type { Membership, Ring } from "./ring.ts";
import type { RollbackNote } from "./rollback-note.ts";
import { type PartKind, partsOfDevice, type RolloutState } from "./rollout.ts";

export type Device = Membership & {
  /** Of a Linux machine; empty or absent: gnu. */
  libc?: string;
  /** As reported; null when the agent does not report it. */
  versions: Record<Component, string | null>;
  autoUpdateEnabled: boolean;
  status: string;
};

export type PlannedRollout = {
  id: string;
  kind: "guard" | "staged";
  /** Whose it is: it includes this partner's devices alone; null: the platform's. */
  partnerId: string | null;
  state: RolloutState;
  rings: readonly Ring[];
  openRings: number;
  percent: number;
  /** Why parts of it are halted, by their keys (`partKey`). */
  haltedParts: ReadonlyMap<string, string>;
  /** Offers that may be made now; null: read when an offer is granted. */
  budget: number | null;
  /** Permits its devices to go back to its version; null or absent: they do not. */
  rollback?: RollbackNote | null;
  /** The platform's rollouts of a partner's release: where one of them is halted, this one offers nothing. */
  above?: readonly PlannedRollout[];
};

export type PlannedRelease = {
  id: string;
  version: string;
  minimumVersion: string | null;
  yanked: boolean;
  /** Why agents would refuse it; null when they accept it. */
  untrusted: string | null;
  /** Agents refuse a manifest with a lower counter than that of the version they run. */
  counter: number;
  /** Time from which agents refuse its manifest. */
  expiresAt: Date | null;
  /** Those of its files (`platformOf`). */
  platforms: ReadonlySet<string>;
  guard: PlannedRollout;
  /** The platform's. */
  staged: readonly PlannedRollout[];
  /** Those of partners, by the partner's id. */
  ofPartners: ReadonlyMap<string, readonly PlannedRollout[]>;
};

/** A component's releases, newest version first. */
export type Catalogue = Record<Component, { promotedId: string | null; releases: readonly PlannedRelease[] }>;

/** Rollouts of a release that may concern a partner's devices: its guard, the platform's and the partner's own. */
export function rolloutsFor(release: PlannedRelease, partnerId: string): PlannedRollout[] {
  return [release.guard, ...release.staged, ...(release.ofPartners.get(partnerId) ?? [])];
}

/** Of what a device is a part, in which rollouts halt. */
type PartOf = Pick<Device, "orgId" | "os" | "arch" | "libc">;

/** In which state a rollout offers nothing to a device, in words; null when it offers. The platform's halt wins. */
export function haltOf(rollout: PlannedRollout, device: PartOf): string | null {
  if (rollout.state !== "running") return rollout.state;
  const part = haltOfPart(rollout, device);
  if (part !== null) return part;
  for (const above of rollout.above ?? []) {
    const halt = above.state === "halted" ? "halted" : haltOfPart(above, device);
    if (halt !== null) return `${halt} by the platform`;
  }
  return null;
}

function haltOfPart(rollout: PlannedRollout, device: PartOf): string | null {
  if (rollout.haltedParts.size === 0) return null;
  for (const part of partsOfDevice({ orgId: device.orgId, platform: platformOf(device) })) {
    const reason = rollout.haltedParts.get(partKey(part));
    if (reason !== undefined) return `halted for ${nameOfPart(part)}: ${reason}`;
  }
  return null;
}

export const partKey = ({ kind, name }: { kind: PartKind; name: string }): string => `${kind} ${name}`;

/** As sentences name it: an organization's id says nothing to its readers. */
export const nameOfPart = ({ kind, name }: { kind: PartKind; name: string }): string =>
  kind === "organization" ? "one organization" : name;

/** Why nobody is offered the release; null when it may be. */
export function stoppedBy(release: PlannedRelease, now: Date): string | null {
  if (release.yanked) return `${release.version} was yanked`;
  if (release.untrusted !== null) return `${release.version} ${release.untrusted}`;
  return hasExpired(release, now) ? `The manifest of ${release.version} has expired` : null;
}

/** Agents refuse an expired manifest: an offer of it would only fail, device by device. */
export function hasExpired({ expiresAt }: PlannedRelease, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now;
}
