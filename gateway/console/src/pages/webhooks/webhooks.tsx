import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newWebhook } from "../../operations/new-webhook.tsx";
import { OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { webhookOperations } from "../../operations/webhooks.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { shownHealth } from "../../rules/health.ts";

/** The webhooks of an organization, or of all that are visible to the user. */
export function Webhooks() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const isEverywhere = me.scope !== "organization" && !orgId;
  const create = <OperationButton of={{ orgId }} operation={newWebhook} />;
  return (
    <ListPage
      title="Webhooks"
      section="webhooks"
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
      columns={columns(orgId, isEverywhere)}
      empty={
        <EmptyState title="No webhook yet.">
          <p>A webhook notifies another system, over HTTPS, of events here.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

const columns = (orgId: string | undefined, isEverywhere: boolean): Column<ItemOf<"/api/v1/webhooks">>[] => [
  {
    id: "name",
    title: "Name",
    cell: ({ id, name }) => <Link {...toRecord("/webhooks/$id", { id }, { orgId })}>{name}</Link>,
  },
  {
    id: "status",
    title: "Health",
    width: "9.5rem",
    as: "state",
    cell: (webhook) => {
      const { word, tone } = shownHealth(webhook);
      return <Status of={word} tone={tone} />;
    },
  },
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
  {
    id: "actions",
    title: "Actions",
    width: "5rem",
    isEnd: true,
    as: "end",
    cell: (webhook) => <RowOperations of={webhook} operations={webhookOperations} name={webhook.name} />,
  },
];
