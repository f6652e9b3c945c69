import { Link } from "@tanstack/react-router";
import { newRole } from "../../operations/new-role.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { roleOperations } from "../../operations/roles.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Roles that the user may see and assign: seeded ones first. */
export function Roles() {
  const [{ orgId }] = useFilters();
  return (
    <ListPage
      title="Roles"
      section="users"
      path="/api/v1/roles"
      filters={["scope"]}
      choices={[{ name: "scope", label: "Scope", options: asOptions(["organization", "partner", "system"]) }]}
      actions={<OperationButton of={{ orgId }} operation={newRole} />}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "min(13rem, 18vw)",
          cell: ({ id, name }) => <Link {...toRecord("/roles/$id", { id }, { orgId })}>{name}</Link>,
        },
        { id: "says", title: "Description", as: "note", cell: ({ description }) => description },
        { id: "scope", title: "Scope", width: "9rem", cell: ({ scope }) => scope },
        {
          id: "kind",
          title: "Whose",
          width: "9rem",
          as: "end",
          isQuiet: ({ key }) => key !== null,
          cell: ({ key, orgId: owner }) =>
            key !== null ? "built in" : owner === null ? "a partner's" : "organization's",
        },
        {
          id: "count",
          title: "Permissions",
          width: "8rem",
          isMinor: true,
          cell: ({ permissions }) => permissions.length,
        },
        {
          id: "changed",
          title: "Changed",
          width: "9rem",
          isMinor: true,
          cell: ({ updatedAt }) => <Time at={updatedAt} />,
        },
        actionsColumn(roleOperations, ({ name }) => name),
      ]}
      empty={<EmptyState title="No role is yours to see." />}
    />
  );
}
