import { Link } from "@tanstack/react-router";
import { type DeviceCounts, outageOf, stepOf } from "../rules/connected.ts";
import type { Column } from "./column.ts";
import { CountedDevices } from "./device-counts.tsx";
import { to } from "./links.ts";

/** An organization or a site in a list that has the counts of its devices. */
type Owner = { id: string; name: string; deviceCounts?: DeviceCounts };
type OwnerOf<R> = (row: R) => { orgId: string; siteId?: string };

/** The order of lists of owners: what needs a look first. */
export const troubleFirst = { sort: "-offline", deviceCounts: "true" } as const;

/** The heading of owners of which about as many devices are away, where the list is in this order. */
export const byOutage = ({ deviceCounts }: Pick<Owner, "deviceCounts">, sort: string | undefined): string | null =>
  sort === troubleFirst.sort && deviceCounts ? outageOf(deviceCounts) : null;

/** How many of an owner's devices are online; leads to them. */
export const ownerDevices = <R extends Owner>(of: OwnerOf<R>): Column<R> => ({
  id: "devices",
  title: "Devices",
  as: "bar",
  sort: troubleFirst.sort,
  isOneWay: true,
  cell: (row) => (row.deviceCounts ? <CountedDevices of={of(row)} counts={row.deviceCounts} /> : null),
});

/** Leads to the devices of an owner that wait for approval, or in an outage to those that are offline. */
export const ownerStep = <R extends Owner>(of: OwnerOf<R>): Column<R> => ({
  id: "next",
  title: "Next step",
  width: "12rem",
  isEnd: true,
  as: "next",
  cell: (row) => {
    const step = row.deviceCounts ? stepOf(row.deviceCounts) : null;
    return step ? (
      <Link {...to("/devices", { ...of(row), status: step.status })} className="button" data-size="small">
        {step.words}
        <span className="visually-hidden"> of {row.name}</span>
      </Link>
    ) : null;
  },
});
