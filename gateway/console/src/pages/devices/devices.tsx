import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useDeviceChanges } from "../../api/changes.ts";
import { useGet } from "../../api/queries.ts";
import { asOptions } from "../../parts/filter-bar.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { searchFor, useFilters } from "../../parts/use-filters.ts";
import { BulkDevices } from "./bulk-devices.tsx";

const statuses = [
  ...asOptions(["online", "offline", "updating", "quarantined", "decommissioned"]),
  ["offline,quarantined", "offline or quarantined"],
] as const;

/** All devices that the user may see, newest first. */
export function Devices() {
  const me = useMe();
  const [{ orgId }, change] = useFilters();
  const isNotified = useDeviceChanges(orgId);
  const isEverywhere = me.scope !== "organization" && orgId === undefined;
  const sites = useGet(
    "/api/v1/orgs/sites",
    { params: { query: { orgId: orgId ?? "", limit: "100" } } },
    { enabled: orgId !== undefined },
  );
  const siteNames = new Map(sites.data?.data.map(({ id, name }) => [id, name]));
  return (
    <ListPage
      title="Devices"
      section="devices"
      path="/api/v1/devices"
      filters={["orgId", "siteId", "groupId", "status", "os", "agentVersion", "label", "seenBefore", "search", "sort"]}
      text={{ name: "search", label: "Host name" }}
      choices={[
        { name: "status", label: "Status", options: statuses },
        { name: "os", label: "System", options: asOptions(["windows", "linux", "darwin"]) },
        ...(siteNames.size > 0 ? [{ name: "siteId", label: "Site", options: [...siteNames] }] : []),
      ]}
      labels={{
        groupId: "Group",
        agentVersion: "Agent",
        label: "Label",
        seenBefore: "Not seen since",
        ...(siteNames.size > 0 ? {} : { siteId: "Site" }),
      }}
      everyMs={isNotified ? 60_000 : 10_000}
      bulk={(devices, clear) => <BulkDevices devices={devices} onDone={clear} />}
      columns={columns({ orgId, change, isEverywhere })}
      empty={
        <EmptyState title="No device has enrolled yet.">
          <p>Make an enrollment key, and start an agent with it.</p>
          <Link to="/welcome" className="button primary">
            Bring the first device online
          </Link>
        </EmptyState>
      }
    />
  );
}

function columns({
  orgId,
  change,
  isEverywhere,
}: {
  orgId: string | undefined;
  change: ReturnType<typeof useFilters>[1];
  isEverywhere: boolean;
}): Column<ItemOf<"/api/v1/devices">>[] {
  return [
    {
      id: "host",
      title: "Host",
      sort: "hostname",
      cell: ({ id, hostname }) => (
        <Link to="/devices/$id" params={{ id }} search={searchFor({ orgId })}>
          {hostname}
        </Link>
      ),
    },
    { id: "status", title: "Status", width: "10rem", cell: ({ status }) => <Status of={status} /> },
    ...(isEverywhere ? [organizationColumn] : []),
    { id: "os", title: "System", width: "11rem", isMinor: true, cell: ({ os, arch }) => `${os} ${arch}` },
    {
      id: "agent",
      title: "Agent",
      width: "8rem",
      isMinor: true,
      cell: ({ agentVersion }) => (
        <button
          type="button"
          className="link"
          title="Only devices with this version"
          onClick={() => change({ agentVersion })}
        >
          {agentVersion}
        </button>
      ),
    },
    { id: "address", title: "Address", width: "10rem", isMinor: true, cell: ({ lastIpAddress }) => lastIpAddress },
    { id: "labels", title: "Labels", isMinor: true, cell: ({ labels }) => <LabelList of={labels} /> },
    {
      id: "seen",
      title: "Last seen",
      width: "9rem",
      sort: "lastSeenAt",
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
    },
  ];
}
