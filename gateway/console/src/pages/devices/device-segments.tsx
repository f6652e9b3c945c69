import { useGet } from "../../api/queries.ts";
import { useMe } from "../../parts/me.tsx";
import { Segments } from "../../parts/segments.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { chosenSegment, fleetSegments } from "../../rules/fleet-segments.ts";
import { fleetStatuses } from "../../rules/fleet-size.ts";

const everyMs = 120_000;

type DeviceSegmentsProps = {
  /** Whether filters beside the segments narrow the list: the counts, which are the whole fleet's, would be wrong. */
  isNarrowed: boolean;
  /** Counts of a large fleet cost more than its first rows, which come first. */
  areRowsRead: boolean;
};

/** How many devices are in which state; each narrows the list to them and keeps its other filters. */
export function DeviceSegments({ isNarrowed, areRowsRead }: DeviceSegmentsProps) {
  const me = useMe();
  const [filters, change] = useFilters();
  const { siteId, groupId } = filters;
  const orgId = me.orgId ?? filters.orgId;
  const owner = { ...(orgId ? { orgId } : {}), ...(siteId ? { siteId } : {}), ...(groupId ? { groupId } : {}) };
  const counted = { everyMs, enabled: areRowsRead };
  const { data } = useGet("/api/v1/devices/summary", { params: { query: owner } }, counted);
  const query = { ...owner, status: fleetStatuses.join(","), limit: "1" };
  const outdated = useGet("/api/v1/devices", { params: { query: { ...query, updateState: "behind" } } }, counted);
  const failed = useGet("/api/v1/devices", { params: { query: { ...query, updateState: "failed" } } }, counted);
  const segments = fleetSegments(
    {
      byStatus: data?.byStatus ?? [],
      outdated: outdated.data?.pagination.total ?? 0,
      failed: failed.data?.pagination.total ?? 0,
    },
    filters,
  );
  return (
    <Segments
      label="Parts of the fleet"
      of={segments.map((segment) => ({ ...segment, count: isNarrowed ? null : segment.count }))}
      chosen={chosenSegment(filters)}
      whole="all"
      choose={(key) => {
        const filter = segments.find((segment) => segment.key === key)?.filter;
        change({ status: filter?.status, updateState: filter?.updateState });
      }}
    />
  );
}
