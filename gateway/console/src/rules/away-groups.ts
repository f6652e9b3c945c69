type Away = { status: string; siteId: string | null; lastSeenAt: string | null };

const hourMs = 3_600_000;
const at = (time: string | null) => (time === null ? Number.NEGATIVE_INFINITY : new Date(time).getTime());
const isSameOutage = (a: Away, b: Away): boolean =>
  a.status === b.status &&
  a.siteId === b.siteId &&
  (a.lastSeenAt === b.lastSeenAt || Math.abs(at(a.lastSeenAt) - at(b.lastSeenAt)) < hourMs);

/** Devices of one site that were lost within an hour as one group, by the first of them, in the order of those. */
export function awayGroups<D extends Away>(devices: readonly D[]): { first: D; count: number }[] {
  const groups: { first: D; count: number }[] = [];
  for (const device of devices) {
    const group = groups.find(({ first }) => isSameOutage(first, device));
    if (group) group.count += 1;
    else groups.push({ first: device, count: 1 });
  }
  return groups;
}
