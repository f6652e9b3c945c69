import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { Operation } from "../../parts/operation.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { searchFor, useFilters } from "../../parts/use-filters.ts";
import { NewWebhook } from "./new-webhook.tsx";

/** The webhooks of an organization, or of all that are visible to the user. */
export function Webhooks() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const isEverywhere = me.scope !== "organization" && !orgId;
  const [isMaking, make] = useState(false);
  const create = (
    <Operation name="POST /api/v1/webhooks" isPrimary onClick={() => make(true)}>
      New webhook
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Webhooks"
        path={isEverywhere ? "/api/v1/webhooks/all" : "/api/v1/webhooks"}
        filters={isEverywhere ? ["status", "search"] : ["orgId", "status", "search"]}
        text={{ name: "search", label: "Name or address" }}
        choices={[
          {
            name: "status",
            label: "Status",
            options: ["active", "paused", "failed"].map((each) => [each, each] as const),
          },
        ]}
        everyMs={10_000}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => (
              <Link to="/webhooks/$id" params={{ id }} search={searchFor({ orgId })}>
                {name}
              </Link>
            ),
          },
          { id: "status", title: "Status", width: "8rem", cell: ({ status }) => <Status of={status} /> },
          { id: "health", title: "Health", width: "8rem", cell: ({ health }) => <Status of={health.status} /> },
          ...(isEverywhere ? [organizationColumn] : []),
          { id: "url", title: "Address", isMinor: true, cell: ({ url }) => url },
          {
            id: "good",
            title: "Delivered",
            width: "7rem",
            isMinor: true,
            cell: ({ successCount }) => successCount.toLocaleString(),
          },
          {
            id: "bad",
            title: "Failed",
            width: "6rem",
            isMinor: true,
            cell: ({ failureCount }) => failureCount.toLocaleString(),
          },
          {
            id: "last",
            title: "Last delivery",
            width: "9rem",
            cell: ({ lastDeliveryAt }) => <Time at={lastDeliveryAt} />,
          },
        ]}
        empty={
          <EmptyState title="No webhook yet.">
            <p>A webhook notifies another system, over HTTPS, of events here.</p>
            {create}
          </EmptyState>
        }
      />
      {isMaking ? <NewWebhook orgId={orgId} onClose={() => make(false)} /> : null}
    </>
  );
}
