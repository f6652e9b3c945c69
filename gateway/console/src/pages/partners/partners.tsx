import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { newPartner } from "../../operations/new-partner.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { partnerOperations } from "../../operations/partners.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";

/** Partners: the service providers and companies whose organizations are here. */
export function Partners() {
  const create = <OperationButton of={anywhere} operation={newPartner} />;
  return (
    <ListPage
      title="Partners"
      section="tenants"
      path="/api/v1/orgs/partners"
      filters={["search"]}
      text={{ name: "search", label: "Name" }}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          cell: ({ id, name }) => <Link {...toRecord("/partners/$id", { id })}>{name}</Link>,
        },
        { id: "slug", title: "Slug", as: "note", cell: ({ slug }) => slug },
        statusColumn(),
        { id: "type", title: "Type", width: "8rem", cell: ({ type }) => type },
        { id: "plan", title: "Plan", width: "8rem", isMinor: true, cell: ({ plan }) => plan },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          as: "end",
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        actionsColumn(partnerOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No partner yet.">
          <p>A partner is a service provider or a company; organizations belong to it.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
