import { Link } from "@tanstack/react-router";
import { connectedOf, type DeviceCounts, outageOf } from "../rules/connected.ts";
import { CountedDevices } from "./device-counts.tsx";
import { to } from "./links.ts";
import { Status } from "./status.tsx";
import type { Column } from "./table.tsx";

/** An organization or a site in a list that has the counts of its devices. */
type Owner = { id: string; deviceCounts?: DeviceCounts };

/** The order of lists of owners: what needs a look first. */
export const troubleFirst = { sort: "-offline", deviceCounts: "true" } as const;

/** The heading of owners of which about as many devices are away, where the list is in this order. */
export const byOutage = ({ deviceCounts }: Owner, sort: string | undefined): string | null =>
  sort === troubleFirst.sort && deviceCounts ? outageOf(deviceCounts) : null;

/** What of an owner's devices needs a look, and how many there are; each leads to them. */
export function ownerDeviceColumns<R extends Owner>(of: (row: R) => { orgId: string; siteId?: string }): Column<R>[] {
  return [
    {
      id: "trouble",
      title: "Needs a look",
      width: "11rem",
      as: "state",
      isUsual: ({ deviceCounts }) => !deviceCounts?.offline && !deviceCounts?.quarantined,
      cell: (row) => {
        const { offline = 0, quarantined = 0 } = row.deviceCounts ?? {};
        const tone = row.deviceCounts ? connectedOf(row.deviceCounts).tone : null;
        return (
          <>
            {offline > 0 ? (
              <Link {...to("/devices", { ...of(row), status: "offline" })}>
                <Status of="offline" as={`${offline.toLocaleString()} offline`} tone={tone ?? "off"} />
              </Link>
            ) : null}{" "}
            {quarantined > 0 ? (
              <Link {...to("/devices", { ...of(row), status: "quarantined" })}>
                <Status of="quarantined" as={`${quarantined.toLocaleString()} to approve`} />
              </Link>
            ) : null}
          </>
        );
      },
    },
    {
      id: "devices",
      title: "Devices",
      width: "15.5rem",
      sort: troubleFirst.sort,
      isOneWay: true,
      cell: (row) => (row.deviceCounts ? <CountedDevices of={of(row)} counts={row.deviceCounts} /> : null),
    },
  ];
}
