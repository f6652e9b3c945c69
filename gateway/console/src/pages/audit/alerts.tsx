import type { ItemOf } from "@muster/client";
import { Siren } from "lucide-react";
import { alertOperations } from "../../operations/alerts.tsx";
import { newAlert } from "../../operations/new-alert.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { searchWords } from "../../rules/alert-body.ts";

type Alert = ItemOf<"/api/v1/audit-logs/alerts">;

/** Searches of the audit trail that notify when a row matches. */
export function Alerts() {
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={newAlert} />;
  return (
    <ListPage
      title="Alerts"
      section="audit"
      path="/api/v1/audit-logs/alerts"
      filters={["orgId"]}
      everyMs={30_000}
      toneOf={({ status, lastError }) => (status === "active" && lastError ? "bad" : "off")}
      actions={create}
      columns={columns}
      empty={
        <EmptyState title="No alert yet." icon={Siren}>
          <p>An alert tells you within a minute that a row of the audit trail matches: by mail or by webhook.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** Who is notified, in words. */
const recipients = ({ notify: { mail, webhook } }: Alert) =>
  [mail.length > 0 ? `${mail.length} by mail` : "", webhook ? "webhooks" : ""].filter(Boolean).join(", ");

/** When it fires, in words. */
const when = ({ threshold }: Alert) => (threshold ? `${threshold.count} rows in ${threshold.minutes} min` : "each row");

const columns: Column<Alert>[] = [
  { id: "name", title: "Name", cell: ({ name }) => name },
  {
    id: "status",
    title: "Health",
    width: "9.5rem",
    as: "state",
    cell: ({ status, lastError }) =>
      status === "active" && lastError ? <Status of="failing" /> : <Status of={status} />,
  },
  { id: "search", title: "Looks for", cell: searchWords },
  { id: "when", title: "Fires at", width: "9rem", isMinor: true, isExtra: true, cell: when },
  { id: "to", title: "Notifies", width: "10rem", isMinor: true, cell: recipients },
  {
    id: "fired",
    title: "Fired",
    width: "8rem",
    isMinor: true,
    cell: ({ firedCount, lastFiredAt }) =>
      lastFiredAt === null ? (
        <span className="soft">not yet</span>
      ) : (
        <>
          {firedCount.toLocaleString()} ×, <Time at={lastFiredAt} />
        </>
      ),
  },
  causeColumn(({ lastError }) => lastError),
  actionsColumn(alertOperations, (alert) => alert.name),
];
