/** Filters of the list of devices that are no filters of a job. */
const ofTheList: ReadonlySet<string> = new Set(["sort", "page", "limit", "cursor", "skipCount"]);

/** The filters of an address as a job has them: several statuses as a list, and no order. */
export function jobFilterOf(filters: Readonly<Record<string, string | undefined>>): Record<string, string | string[]> {
  const inForce = Object.entries(filters).filter((each): each is [string, string] => Boolean(each[1]));
  return Object.fromEntries(
    inForce
      .filter(([name]) => !ofTheList.has(name))
      .map(([name, value]) => [name, name === "status" ? value.split(",") : value]),
  );
}

/** The filters of a job as the list's address has them. */
export const listFiltersOf = (filter: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]),
  );

type Job = { action: string; change: { siteId?: string | null; autoUpdateEnabled?: boolean } | null };

const verbs: Readonly<Record<string, string>> = {
  decommission: "Decommission",
  approve: "Approve",
  merge: "Approve and merge",
  reject: "Reject",
};

/** How many devices, in words. */
export const devicesOf = (count: number): string => `${count.toLocaleString()} ${count === 1 ? "device" : "devices"}`;

/** What a job does with its devices, as a title. */
export function jobTitle({ action, change }: Job, total: number): string {
  const devices = devicesOf(total);
  if (change?.siteId !== undefined) {
    return change.siteId === null ? `Take ${devices} out of their sites` : `Move ${devices} to a site`;
  }
  if (change?.autoUpdateEnabled !== undefined) {
    return `Turn agent updates ${change.autoUpdateEnabled ? "on" : "off"} for ${devices}`;
  }
  return `${verbs[action] ?? "Change"} ${devices}`;
}
