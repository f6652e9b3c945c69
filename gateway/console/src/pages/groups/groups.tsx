import { Link } from "@tanstack/react-router";
import { groupOperations } from "../../operations/device-groups.tsx";
import { newGroup } from "../../operations/new-group.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { DeviceCounts } from "../../parts/device-counts.tsx";
import { to } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Device groups: devices under one name, at any sites. */
export function Groups() {
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newGroup} />;
  return (
    <ListPage
      title="Device groups"
      section="devices"
      path="/api/v1/device-groups"
      filters={["orgId", "siteId", "search"]}
      text={{ name: "search", label: "Name" }}
      labels={{ siteId: "Site" }}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "min(17rem, 22vw)",
          cell: ({ id, name, orgId: owner }) => <Link {...to("/devices", { orgId: owner, groupId: id })}>{name}</Link>,
        },
        {
          id: "scope",
          title: "Devices of",
          width: "10rem",
          isMinor: true,
          isUsual: ({ siteId }) => siteId === null,
          cell: ({ siteId }) => (siteId === null ? "the organization" : "one site"),
        },
        {
          id: "devices",
          title: "Devices",
          as: "bar",
          cell: ({ id, orgId: owner }) => <DeviceCounts of={{ orgId: owner, groupId: id }} />,
        },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        actionsColumn(groupOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No device group yet.">
          <p>A group holds devices under one name, to filter lists and to roll a version out to them first.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
