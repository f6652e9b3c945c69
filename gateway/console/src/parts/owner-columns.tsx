import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { connectedOf, type DeviceCounts, outageOf } from "../rules/connected.ts";
import { ownerNeeds } from "../rules/owner-needs.ts";
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

/** What of an owner's devices needs a look, and how many there are; each leads to them. */
export function ownerDeviceColumns<R extends Owner>(of: OwnerOf<R>): Column<R>[] {
  return [
    {
      id: "trouble",
      title: "Needs a look",
      width: "13.5rem",
      as: "state",
      isUsual: ({ deviceCounts }) => ownerNeeds(deviceCounts).length === 0,
      cell: (row) =>
        ownerNeeds(row.deviceCounts).map(({ status, words, tone }, at) => (
          <Fragment key={status}>
            {at > 0 ? " " : null}
            <Link {...to("/devices", { ...of(row), status })}>
              <Status of={status} as={words} tone={tone} />
            </Link>
          </Fragment>
        )),
    },
    {
      id: "devices",
      title: "Devices",
      width: "15.5rem",
      as: "bar",
      sort: troubleFirst.sort,
      isOneWay: true,
      cell: (row) => (row.deviceCounts ? <CountedDevices of={of(row)} counts={row.deviceCounts} /> : null),
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
