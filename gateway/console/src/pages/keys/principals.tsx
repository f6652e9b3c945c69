import { newPrincipal } from "../../operations/new-principal.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { principalOperations } from "../../operations/principals.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Service principals: named programs that stay while their key changes. */
export function Principals() {
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newPrincipal} />;
  return (
    <ListPage
      title="Service principals"
      section="keys"
      path="/api/v1/service-principals"
      filters={["orgId", "status", "search"]}
      text={{ name: "search", label: "Name" }}
      choices={[{ name: "status", label: "Status", options: asOptions(["active", "disabled"]) }]}
      actions={create}
      columns={[
        { id: "name", title: "Name", cell: ({ name }) => name },
        statusColumn(),
        { id: "scopes", title: "Scopes", as: "note", cell: ({ scopes }) => scopes.join(", ") },
        {
          id: "key",
          title: "Its key begins with",
          width: "11rem",
          cell: ({ keyPrefix }) =>
            keyPrefix === null ? <span className="soft">no key</span> : <code>{keyPrefix}</code>,
        },
        {
          id: "made",
          title: "Created",
          width: "8rem",
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        actionsColumn(principalOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No service principal yet.">
          <p>A service principal is a program with a name of its own. Its key can change; audit rows name it.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
