import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { Laptop, Plus } from "lucide-react";
import { useDeviceChanges } from "../../api/changes.ts";
import { useGet } from "../../api/queries.ts";
import { deviceOperations } from "../../operations/devices.tsx";
import { nextColumn } from "../../operations/operation-buttons.tsx";
import { ButtonLabel } from "../../parts/button-label.tsx";
import type { Column } from "../../parts/column.ts";
import { asOptions } from "../../parts/filter-bar.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status, toneOf } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { chosenSegment } from "../../rules/fleet-segments.ts";
import { fleetStatuses } from "../../rules/fleet-size.ts";
import { systemName } from "../../rules/system-name.ts";
import { worstFirst } from "../../rules/tone.ts";
import type { Me } from "../../rules/why-not.ts";
import { BulkAll } from "./bulk-all.tsx";
import { BulkDevices } from "./bulk-devices.tsx";
import { DeviceSegments } from "./device-segments.tsx";

/** Statuses that no segment is. */
const statuses = [
  ["decommissioned", "decommissioned"],
  ["offline,quarantined", "offline or to approve"],
  [[...fleetStatuses, "decommissioned"].join(","), "any, decommissioned, too"],
] as const;

/** Filters that leave some of the devices out that the segments count. */
const narrowing = ["os", "agentVersion", "label", "seenBefore", "enrollmentKeyId", "search"] as const;
/** Whoever chooses one of these gets the rows in the order of the API. */
const unordered = ["status", "updateState", "search", "sort"] as const;
type Device = ItemOf<"/api/v1/devices">;

/** What needs a look first, while no filter and no order says otherwise. */
const lead = {
  filters: { status: "quarantined,offline" },
  // Of those that are away, the newest first: older ones were seen before.
  order: <D extends Device>(devices: D[]) =>
    worstFirst(
      devices.toSorted((one, other) => (other.lastSeenAt ?? "").localeCompare(one.lastSeenAt ?? "")),
      ({ status }) => toneOf(status),
    ),
};

/** The fleet that the user may see, newest first; a search finds decommissioned devices, too. */
export function Devices() {
  const me = useMe();
  const [filters, change] = useFilters();
  const { orgId } = filters;
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
      filters={["orgId", "siteId", "groupId", "status", "updateState", ...narrowing, "sort"]}
      text={{ name: "search", label: "Name, serial, address, customer" }}
      choices={[
        { name: "os", label: "System", options: asOptions(["windows", "linux", "darwin"]) },
        ...(siteNames.size > 0 ? [{ name: "siteId", label: "Site", options: [...siteNames] }] : []),
        { name: "status", label: "Status", none: "in use", options: statuses },
      ]}
      labels={{
        groupId: "Group",
        agentVersion: "Agent",
        label: "Label",
        seenBefore: "Not seen since",
        enrollmentKeyId: "Enrollment key",
        // A segment is marked, and needs no chip that says it again.
        ...(chosenSegment(filters) === null ? { updateState: "Updates" } : {}),
        ...(siteNames.size > 0 ? {} : { siteId: "Site" }),
      }}
      defaults={filters.search ? {} : { status: fleetStatuses.join(",") }}
      everyMs={isNotified ? 60_000 : 10_000}
      bulk={(devices, clear) => <BulkDevices devices={devices} onDone={clear} />}
      bulkAll={(matching, clear) => <BulkAll matching={matching} onDone={clear} />}
      columns={columns({ me, orgId, change, isEverywhere })}
      lead={unordered.some((name) => filters[name]) ? undefined : lead}
      segments={(areRowsRead) => (
        <DeviceSegments isNarrowed={narrowing.some((name) => filters[name])} areRowsRead={areRowsRead} />
      )}
      actions={
        <Link {...to("/devices/add", { orgId })} className="button" data-weight="primary">
          <Plus size={15} aria-hidden />
          <ButtonLabel of="Add devices" />
        </Link>
      }
      empty={
        <EmptyState title="No device has enrolled yet." icon={Laptop}>
          <p>Make an enrollment key, and start an agent with it.</p>
          <Link {...to("/welcome")} className="button" data-weight="primary">
            Bring the first device online
          </Link>
        </EmptyState>
      }
    />
  );
}

function columns({
  me,
  orgId,
  change,
  isEverywhere,
}: {
  me: Me;
  orgId: string | undefined;
  change: ReturnType<typeof useFilters>[1];
  isEverywhere: boolean;
}): Column<Device>[] {
  return [
    {
      id: "host",
      title: "Host",
      sort: "hostname",
      cell: ({ id, hostname }) => <Link {...toRecord("/devices/$id", { id }, { orgId })}>{hostname}</Link>,
    },
    {
      id: "status",
      title: "Status",
      width: "8.5rem",
      as: "state",
      cell: ({ status }) => <Status of={status} />,
    },
    {
      id: "org",
      title: isEverywhere ? "Organization" : "Site",
      width: isEverywhere ? "15rem" : "11rem",
      cell: ({ orgId: owner, siteId }) => <Location orgId={isEverywhere ? owner : null} siteId={siteId} />,
    },
    {
      id: "os",
      title: "System",
      width: "9rem",
      as: "note",
      cell: ({ os, arch }) => (
        <span className="soft">
          {systemName(os)} {arch}
        </span>
      ),
    },
    {
      id: "agent",
      title: "Agent",
      width: "9.75rem",
      isMinor: true,
      cell: (device) => <AgentVersion of={device} onChoose={() => change({ agentVersion: device.agentVersion })} />,
    },
    {
      id: "address",
      title: "Address",
      width: "8.5rem",
      isMinor: true,
      isExtra: true,
      as: "none",
      cell: ({ lastIpAddress }) => <span className="soft number">{lastIpAddress}</span>,
    },
    {
      id: "labels",
      title: "Labels",
      width: "12rem",
      isExtra: true,
      as: "none",
      cell: ({ labels }) => <LabelList of={labels} />,
    },
    {
      id: "seen",
      title: "Last seen",
      width: "8.5rem",
      sort: "lastSeenAt",
      isEnd: true,
      as: "end",
      cell: (device) => <LastSeen of={device} />,
    },
    nextColumn(me, deviceOperations, ({ hostname }) => hostname),
  ];
}

/** Whose a device is, and where it stands. */
const Location = ({ orgId, siteId }: { orgId: string | null; siteId: string | null }) => (
  <>
    {orgId ? <NameOf id={orgId} /> : null}
    {siteId ? (
      <span className={orgId ? "faint" : undefined}>
        {orgId ? " / " : null}
        <NameOf id={siteId} />
      </span>
    ) : null}
  </>
);

/** When it was last seen; of one that is away, in whole words, and nothing of one that waits for its first time. */
const LastSeen = ({ of: { status, lastSeenAt } }: { of: Device }) =>
  lastSeenAt === null ? null : <Time at={lastSeenAt} {...(status === "offline" ? { style: "long" } : {})} />;

/** A version, which narrows the list to the devices that run it, and how it stands to its target. */
const AgentVersion = ({ of, onChoose }: { of: Device; onChoose(): void }) => (
  <>
    <button
      type="button"
      data-weight="link"
      data-tip="Only devices with this version"
      className="number"
      onClick={onChoose}
    >
      {of.agentVersion}
    </button>{" "}
    <HowItStands of={of} />
  </>
);

/** How its versions stand to their targets, where they are not the same; held where its updates are turned off. */
function HowItStands({ of: { updateState, autoUpdateEnabled } }: { of: Device }) {
  if (updateState === null || updateState === "current") return null;
  const isHeld = updateState !== "ahead" && !autoUpdateEnabled;
  const state = isHeld ? "held" : updateState;
  return (
    <span data-tip={tipOf(state)}>
      <Status of={state} tone={updateTone(state)} />
    </span>
  );
}

type UpdateState = "held" | NonNullable<Device["updateState"]>;

const updateTone = (state: UpdateState) => (state === "failed" ? "bad" : state === "behind" ? "warn" : "off");

function tipOf(state: UpdateState): string {
  switch (state) {
    case "held":
      return "Its updates are turned off";
    case "failed":
      return "Its update failed and is tried again later";
    case "ahead":
      return "Newer than its target";
    default:
      return "Older than its target; its page says what it waits for";
  }
}
