/** A fleet is what is not decommissioned: the number beside the navigation and the list count these. */
export const fleetStatuses = ["online", "offline", "updating", "quarantined"] as const;

const counted: ReadonlySet<string> = new Set(fleetStatuses);

export const fleetSize = (counts: readonly { status: string; count: number }[]): number =>
  counts.reduce((sum, { status, count }) => sum + (counted.has(status) ? count : 0), 0);
