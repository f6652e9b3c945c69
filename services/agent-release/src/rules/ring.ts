import satisfies from "semver/functions/satisfies.js";
import validRange from "semver/ranges/valid.js";
import { parseVersion } from "./version.ts";

/**
 * The devices of any of these partners, organizations, sites and groups (of all, when none is named) that have all the
 * labels, one of the systems and architectures, and an agent version in the range.
 */
export type Ring = {
  name: string;
  partnerIds: readonly string[];
  orgIds: readonly string[];
  siteIds: readonly string[];
  groupIds: readonly string[];
  labels?: Readonly<Record<string, string>>;
  os?: readonly string[];
  arch?: readonly string[];
  /** As node-semver reads ranges. */
  agentVersionRange?: string;
  /** Devices that no ring before it included when the rollout was created. */
  devices?: number;
};

/** What a device belongs to, for rings. */
export type Membership = {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  groupIds: readonly string[];
  labels: Readonly<Record<string, string>>;
  os: string;
  arch: string;
};

/** Whether an open ring includes a device, by its agent's version; a rollout without rings is for everybody. */
export function isInRing(
  rings: readonly Ring[],
  openRings: number,
  device: Membership,
  running: string | null,
): boolean {
  return rings.length === 0 || waveOf(rings, openRings, device, running) !== null;
}

/** Position of the first open ring that includes a device; null for none. */
export function waveOf(
  rings: readonly Ring[],
  openRings: number,
  device: Membership,
  running: string | null,
): number | null {
  const at = rings.slice(0, openRings).findIndex((ring) => includes(ring, device, running));
  return at < 0 ? null : at;
}

function includes(ring: Ring, device: Membership, running: string | null): boolean {
  const { labels = {}, os = [], arch = [], agentVersionRange = "" } = ring;
  return (
    isOfOwners(ring, device) &&
    Object.entries(labels).every(([name, value]) => device.labels[name] === value) &&
    (os.length === 0 || os.includes(device.os)) &&
    (arch.length === 0 || arch.includes(device.arch)) &&
    isInRange(running, agentVersionRange)
  );
}

function isOfOwners({ partnerIds, orgIds, siteIds, groupIds }: Ring, device: Membership): boolean {
  if (partnerIds.length + orgIds.length + siteIds.length + groupIds.length === 0) return true;
  return (
    partnerIds.includes(device.partnerId) ||
    orgIds.includes(device.orgId) ||
    (device.siteId !== null && siteIds.includes(device.siteId)) ||
    device.groupIds.some((id) => groupIds.includes(id))
  );
}

/** Whether a version is within a range; an empty range has all versions, also those that are no semantic ones. */
export function isInRange(running: string | null, range: string): boolean {
  if (range === "") return true;
  const version = running === null ? null : parseVersion(running);
  return version !== null && satisfies(version, range, { includePrerelease: true });
}

export const rangeMax = 200;
export const isRange = (text: string): boolean => text.length <= rangeMax && validRange(text) !== null;
