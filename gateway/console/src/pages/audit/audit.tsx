import { Link } from "@tanstack/react-router";
import { ExportButton } from "../../parts/export-button.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Who did what, newest first. */
export function Audit() {
  const [filters, change] = useFilters();
  const { orgId, from, to } = filters;
  const day = (name: "from" | "to", label: string) => (
    <label>
      {label}{" "}
      <input
        type="date"
        value={(filters[name] ?? "").slice(0, 10)}
        onChange={(event) => change({ [name]: event.target.value || undefined })}
      />
    </label>
  );
  return (
    <ListPage
      title="Audit"
      path="/api/v1/audit-logs/logs"
      filters={["orgId", "user", "action", "resource", "from", "to"]}
      text={{ name: "action", label: "Action" }}
      labels={{ user: "Actor", resource: "Resource", ...(from ? { from: "From" } : {}), ...(to ? { to: "To" } : {}) }}
      actions={
        <>
          {day("from", "From")}
          {day("to", "To")}
          <ExportButton filters={filters} format="csv" />
        </>
      }
      columns={[
        {
          id: "action",
          title: "Action",
          cell: ({ id, action }) => (
            <Link to="/audit/$id" params={{ id }} search={{ orgId } as never}>
              {action}
            </Link>
          ),
        },
        {
          id: "actor",
          title: "Actor",
          width: "15rem",
          cell: ({ user, actorType }) => {
            const name = user.email ?? user.name ?? actorType;
            return (
              <button
                type="button"
                className="link"
                onClick={() => change({ user: name })}
                title="Only this actor's rows"
              >
                {name}
              </button>
            );
          },
        },
        {
          id: "resource",
          title: "Resource",
          isMinor: true,
          cell: ({ resource }) => `${resource.type} ${resource.name ?? ""}`,
        },
        { id: "result", title: "Result", width: "7rem", isMinor: true, cell: ({ result }) => <Status of={result} /> },
        { id: "time", title: "Time", width: "13rem", cell: ({ timestamp }) => <Instant at={timestamp} /> },
      ]}
      empty={<EmptyState title="Nothing has been recorded yet." />}
    />
  );
}
