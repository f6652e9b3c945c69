import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newSite } from "../../operations/new-site.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { siteOperations } from "../../operations/sites.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { byOutage, ownerDevices, ownerStep, troubleFirst } from "../../parts/owner-columns.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

const itself = ({ id, orgId }: ItemOf<"/api/v1/orgs/sites">) => ({ orgId, siteId: id });

/** The sites of the organizations that the user may see, those with the largest share of offline devices first. */
export function Sites() {
  const maySeeDevices = useWhyNot("GET /api/v1/devices/summary") === null;
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const create = <OperationButton of={{ orgId }} operation={newSite} />;
  return (
    <ListPage
      title="Sites"
      section="tenants"
      path="/api/v1/orgs/sites"
      filters={["orgId", "search", "sort", "deviceCounts"]}
      {...(maySeeDevices ? { defaults: troubleFirst, groupOf: byOutage } : {})}
      text={{ name: "search", label: "Name" }}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "14rem",
          sort: "name",
          isOneWay: true,
          cell: ({ id, name }) => <Link {...toRecord("/sites/$id", { id }, { orgId })}>{name}</Link>,
        },
        ...(chosenOrgId === undefined ? [organizationColumn] : []),
        ...(maySeeDevices ? [ownerDevices(itself)] : []),
        {
          id: "zone",
          title: "Time zone",
          width: "10rem",
          as: "note",
          // A fact of the site's page.
          isUsual: () => true,
          cell: ({ timezone }) => timezone,
        },
        {
          id: "labels",
          title: "Labels",
          width: "12rem",
          as: "note",
          isExtra: true,
          isUsual: ({ labels }) => Object.keys(labels).length === 0,
          cell: ({ labels }) => <LabelList of={labels} />,
        },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          as: "fact",
          isUsual: () => true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        ...(maySeeDevices ? [ownerStep(itself)] : []),
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
