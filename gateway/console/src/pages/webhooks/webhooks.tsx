import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newWebhook } from "../../operations/new-webhook.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { review } from "../../operations/review.ts";
import { webhookOperations } from "../../operations/webhooks.tsx";
import type { Column } from "../../parts/column.ts";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { Address } from "../../parts/long-text.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { WebhookCause } from "../../parts/webhook-cause.tsx";
import { shownHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";

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
      isShort
      toneOf={(webhook) => shownHealth(webhook).tone}
      actions={create}
      columns={columns(me, orgId, isEverywhere)}
      empty={
        <EmptyState title="No webhook yet.">
          <p>A webhook notifies another system, over HTTPS, of events here.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

const isFailing = (webhook: ItemOf<"/api/v1/webhooks">) => shownHealth(webhook).tone === "bad";

/** What a webhook gets. */
function eventsOf({ events }: ItemOf<"/api/v1/webhooks">): string {
  if (events.includes("*")) return "Gets every event";
  return `Gets ${events.length > 2 ? `${events.length} types of events` : events.join(" and ")}`;
}

/** Leads to its deliveries, and to what its receiver answers. */
const reviewOf = (orgId: string | undefined) =>
  review<ItemOf<"/api/v1/webhooks">>({
    id: "webhook.review",
    needs: "GET /api/v1/webhooks/{id}/deliveries",
    isNext: isFailing,
    leads: ({ id }) => toRecord("/webhooks/$id", { id }, { orgId }),
  });

const columns = (me: Me, orgId: string | undefined, isEverywhere: boolean): Column<ItemOf<"/api/v1/webhooks">>[] => [
  {
    id: "name",
    title: "Name",
    width: isEverywhere ? "15rem" : "min(22rem, 22vw)",
    hasNote: true,
    cell: ({ id, name, url }) => (
      <>
        <Link {...toRecord("/webhooks/$id", { id }, { orgId })}>{name}</Link>
        <small data-tip={url}>
          <Address of={url.replace(/^https:\/\//, "")} />
        </small>
      </>
    ),
  },
  stateColumn<ItemOf<"/api/v1/webhooks">>({
    title: "Health",
    stateOf: shownHealth,
    noteOf: (webhook) => (isFailing(webhook) ? <WebhookCause of={webhook} /> : eventsOf(webhook)),
  }),
  ...(isEverywhere ? [{ ...organizationColumn, width: "9rem" }] : []),
  {
    id: "good",
    title: "Delivered",
    width: "6rem",
    isMinor: true,
    isEnd: true,
    cell: ({ successCount }) => successCount.toLocaleString(),
  },
  {
    id: "bad",
    title: "Failed",
    width: "5rem",
    isMinor: true,
    isEnd: true,
    cell: (webhook) => (
      <span className={isFailing(webhook) ? "bad" : undefined}>{webhook.failureCount.toLocaleString()}</span>
    ),
  },
  {
    id: "last",
    title: "Last success",
    width: "8rem",
    isMinor: true,
    isEnd: true,
    cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} />,
  },
  { ...nextColumn(me, [...webhookOperations, reviewOf(orgId)], (webhook) => webhook.name), width: "6rem" },
  actionsColumn(webhookOperations, (webhook) => webhook.name),
];
