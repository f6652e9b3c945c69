import { Link } from "@tanstack/react-router";
import { connectedOf, type DeviceCounts, outageOf } from "../rules/connected.ts";
import { CountedDevices } from "./device-counts.tsx";
import { to } from "./links.ts";
import { Status } from "./status.tsx";
import type { Column } from "./table.tsx";

/** An organization or a site in a list that has the counts of its devices. */
type Owner = { id: string; name: string; deviceCounts?: DeviceCounts };
type OwnerOf<R> = (row: R) => { orgId: string; siteId?: string };

/** The order of lists of owners: what needs a look first. */
export const troubleFirst = { sort: "-offline", deviceCounts: "true" } as const;

/** The heading of owners of which about as many devices are away, where the list is in this order. */
export const byOutage = ({ deviceCounts }: Pick<Owner, "deviceCounts">, sort: string | undefined): string | null =>
  sort === troubleFirst.sort && deviceCounts ? outageOf(deviceCounts) : null;

/** How many of an owner's devices are online, and how many wait for approval; each leads to them. */
export function ownerDeviceColumns<R extends Owner>(of: OwnerOf<R>): Column<R>[] {
  return [
    {
      id: "devices",
      title: "Devices",
      as: "bar",
      sort: troubleFirst.sort,
      isOneWay: true,
      cell: (row) => (row.deviceCounts ? <CountedDevices of={of(row)} counts={row.deviceCounts} /> : null),
    },
    {
      id: "waiting",
      title: "To approve",
      width: "9rem",
      as: "state",
      isUsual: ({ deviceCounts }) => !deviceCounts?.quarantined,
      cell: (row) =>
        row.deviceCounts?.quarantined ? (
          <Link {...to("/devices", { ...of(row), status: "quarantined" })}>
            <Status of="quarantined" as={`${row.deviceCounts.quarantined.toLocaleString()} to approve`} tone="warn" />
          </Link>
        ) : null,
    },
  ];
}

/** Where an outage is looked at: the devices that are offline. */
export const offlineStep = <R extends Owner>(of: OwnerOf<R>): Column<R> => ({
  id: "next",
  title: "Next step",
  width: "12rem",
  isEnd: true,
  as: "next",
  cell: (row) =>
    row.deviceCounts && connectedOf(row.deviceCounts).tone === "bad" ? (
      <Link {...to("/devices", { ...of(row), status: "offline" })} className="button" data-size="small">
        See offline devices<span className="visually-hidden"> of {row.name}</span>
      </Link>
    ) : null,
});
