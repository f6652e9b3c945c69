import { Link } from "@tanstack/react-router";
import { newSite } from "../../operations/new-site.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { siteOperations } from "../../operations/sites.tsx";
import { DeviceCounts } from "../../parts/device-counts.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** The sites of the organizations that the user may see. */
export function Sites() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const create = <OperationButton of={{ orgId }} operation={newSite} />;
  return (
    <ListPage
      title="Sites"
      section="tenants"
      path="/api/v1/orgs/sites"
      filters={["orgId", "search"]}
      text={{ name: "search", label: "Name" }}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          cell: ({ id, name }) => <Link {...toRecord("/sites/$id", { id }, { orgId })}>{name}</Link>,
        },
        ...(chosenOrgId === undefined ? [organizationColumn] : []),
        {
          id: "devices",
          title: "Devices",
          width: "15rem",
          cell: ({ id, orgId: owner }) => <DeviceCounts of={{ orgId: owner, siteId: id }} />,
        },
        { id: "zone", title: "Time zone", width: "11rem", as: "note", cell: ({ timezone }) => timezone },
        {
          id: "labels",
          title: "Labels",
          as: "note",
          isUsual: ({ labels }) => Object.keys(labels).length === 0,
          cell: ({ labels }) => <LabelList of={labels} />,
        },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          as: "fact",
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        actionsColumn(siteOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No site yet.">
          <p>A site is a location of devices: an office, a shop, a data centre.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
