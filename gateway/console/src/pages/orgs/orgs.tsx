import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { newOrganization } from "../../operations/new-organization.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { organizationOperations } from "../../operations/organizations.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { byOutage, ownerDevices, ownerStep, troubleFirst } from "../../parts/owner-columns.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";

const itself = ({ id }: ItemOf<"/api/v1/orgs/organizations">) => ({ orgId: id });

/** The organizations that the user may see, those with the largest share of offline devices first. */
export function Organizations() {
  const me = useMe();
  const maySeeDevices = useWhyNot("GET /api/v1/devices/summary") === null;
  const create = me.scope === "organization" ? null : <OperationButton of={anywhere} operation={newOrganization} />;
  return (
    <ListPage
      title="Organizations"
      section="tenants"
      path="/api/v1/orgs/organizations"
      filters={["partnerId", "search", "sort", "deviceCounts"]}
      {...(maySeeDevices ? { defaults: troubleFirst, groupOf: byOutage } : {})}
      text={{ name: "search", label: "Name" }}
      labels={{ partnerId: "Partner" }}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "17rem",
          sort: "name",
          isOneWay: true,
          cell: ({ id, name }) => <Link {...toRecord("/orgs/$id", { id }, { orgId: id })}>{name}</Link>,
        },
        statusColumn(),
        ...(maySeeDevices ? [ownerDevices(itself)] : []),
        {
          id: "slug",
          title: "Slug",
          as: "note",
          // For programs: whoever needs it chooses the column.
          isUsual: () => true,
          cell: ({ slug }) => <span className="soft">{slug}</span>,
        },
        {
          id: "type",
          title: "Type",
          width: "7rem",
          as: "note",
          isUsual: ({ type }) => type === "customer",
          cell: ({ type }) => type,
        },
        {
          id: "cap",
          title: "Devices at most",
          width: "10rem",
          as: "none",
          isUsual: ({ maxDevices }) => maxDevices === null,
          cell: ({ maxDevices }) => maxDevices?.toLocaleString() ?? "unlimited",
        },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          as: "none",
          // A fact of the organization's page.
          isUsual: () => true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        ...(maySeeDevices ? [ownerStep(itself)] : []),
        actionsColumn(organizationOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No organization yet.">
          <p>An organization is a customer: its devices, people, keys and audit trail are separate from all others'.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
