import { fleetSize } from "./fleet-size.ts";
import type { Tone } from "./tone.ts";

type Filter = { status?: string | undefined; updateState?: string | undefined };
type Counts = {
  byStatus: readonly { status: string; count: number }[];
  /** By how the versions of devices stand to their targets. */
  outdated: number;
  failed: number;
};

/** A part of the fleet that a list is narrowed to with one click. */
export type FleetSegment = { key: string; title: string; tone: Tone | null; count: number; filter: Filter };

/** What may need a look first, what is well last. */
const segments: readonly Omit<FleetSegment, "count">[] = [
  { key: "offline", title: "Offline", tone: "off", filter: { status: "offline" } },
  { key: "quarantined", title: "To approve", tone: "warn", filter: { status: "quarantined" } },
  { key: "failed", title: "Update failed", tone: "bad", filter: { updateState: "failed" } },
  { key: "behind", title: "Behind", tone: "warn", filter: { updateState: "behind" } },
  { key: "updating", title: "Updating", tone: "run", filter: { status: "updating" } },
  { key: "online", title: "Online", tone: "good", filter: { status: "online" } },
];

/** All devices in use, then the parts that have some, or are looked at; none for a fleet without a device. */
export function fleetSegments({ byStatus, outdated, failed }: Counts, inForce: Filter): FleetSegment[] {
  const all = fleetSize(byStatus);
  const chosen = chosenSegment(inForce);
  const counts = new Map([
    ...byStatus.map(({ status, count }) => [status, count] as const),
    ["behind", outdated] as const,
    ["failed", failed] as const,
  ]);
  const parts = segments
    .map((segment) => ({ ...segment, count: counts.get(segment.key) ?? 0 }))
    .filter(({ key, count }) => count > 0 || key === chosen);
  return all === 0 && parts.length === 0
    ? []
    : [{ key: "all", title: "All in use", tone: null, count: all, filter: {} }, ...parts];
}

/** The segment that these filters are; null where they are another choice. */
export function chosenSegment({ status, updateState }: Filter): string | null {
  if (!status && !updateState) return "all";
  const same = (one: string | undefined, other: string | undefined) => (one || undefined) === (other || undefined);
  const found = segments.find(({ filter }) => same(filter.status, status) && same(filter.updateState, updateState));
  return found?.key ?? null;
}
