import type { ItemOf } from "@muster/client";
import { exportOperations } from "../../operations/exports.tsx";
import { newExport } from "../../operations/new-export.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { filterText } from "../../rules/filter-text.ts";

type Export = ItemOf<"/api/v1/audit-logs/exports">;

/** Exports of every row that matches, in parts that can be verified. */
export function Exports() {
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newExport} />;
  return (
    <ListPage
      title="Exports"
      section="audit"
      path="/api/v1/audit-logs/exports"
      filters={["orgId"]}
      everyMs={5_000}
      actions={create}
      columns={columns}
      empty={
        <EmptyState title="No export yet.">
          <p>An export has every row that matches, in parts of 10,000, and a signed manifest that proves them.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** How far a running export is through its chain. */
function progress({ status, seenSeq, headSeq, rows }: Export): string {
  const count = `${rows.toLocaleString()} ${rows === 1 ? "row" : "rows"}`;
  return status === "running" && headSeq > 0 ? `${count}, ${Math.floor((seenSeq / headSeq) * 100)} %` : count;
}

const columns: Column<Export>[] = [
  { id: "filter", title: "Rows", cell: ({ filter }) => filterText(filter) },
  { id: "status", title: "Status", width: "9.5rem", as: "state", cell: ({ status }) => <Status of={status} /> },
  {
    id: "org",
    title: "Chain",
    width: "12rem",
    cell: ({ orgId, chainId }) => <NameOf id={orgId ?? chainId} />,
  },
  { id: "rows", title: "Found", width: "10rem", as: "end", cell: progress },
  causeColumn(({ error }) => error),
  { id: "made", title: "Started", width: "9rem", isMinor: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    id: "ends",
    title: "Kept until",
    width: "9rem",
    isMinor: true,
    cell: ({ expiresAt }) => (expiresAt === null ? null : <Time at={expiresAt} />),
  },
  actionsColumn(exportOperations, (each) => filterText(each.filter)),
];
