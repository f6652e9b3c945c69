import { useState } from "react";
import { type BodyOf, useGet, useList } from "../api/queries.ts";
import { DeliveriesTable } from "../parts/delivery-tables.tsx";
import { Facts, Section } from "../parts/facts.tsx";
import { MoreRows } from "../parts/more-rows.tsx";
import { retriesText } from "../parts/retry-schedule.tsx";
import { EmptyState, FailureState, ListState, Loading } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { WebhookWarnings } from "../parts/webhook-warnings.tsx";
import { signedText } from "../rules/signed-text.ts";
import { At, Head, Reason, type View, type ViewProps } from "./view-parts.tsx";
import { WebhookActions } from "./webhook-actions.tsx";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;

/** One webhook: its health, what can be done with it, and its deliveries. */
export function WebhookView({ may, go, id }: ViewProps & { id: string }) {
  const webhook = useGet("/api/v1/webhooks/{id}", { params: { path: { id } } }, { everyMs: 5_000 });
  const [said, say] = useState("");
  const back = () => go({ at: "list" });
  const { data } = webhook;
  return (
    <>
      <Head title={data?.name ?? "Webhook"} onBack={back}>
        {data ? <Status of={data.status} /> : null}
      </Head>
      <p role="status">{said}</p>
      {webhook.error ? <FailureState failure={webhook.error.failure} /> : null}
      {webhook.isPending ? <Loading /> : null}
      {data ? (
        <>
          <WebhookActions of={data} may={may} onDone={say} onGone={back} />
          <WebhookWarnings of={data} />
          <Endpoint of={data} />
          <Deliveries id={id} go={go} />
        </>
      ) : null}
    </>
  );
}

const Endpoint = ({ of: { url, health, deliveryStats: stats, ...of } }: { of: Webhook }) => (
  <Section title="Endpoint">
    <Facts
      of={[
        ["Address", url],
        ["Health", <Status key="health" of={health.status} />],
        ["Why", health.reason ? <Reason key="why" of={health.reason} /> : null],
        ["Last success", <At key="good" time={health.lastSuccessAt} />],
        ["Last failure", <At key="bad" time={health.lastFailureAt} />],
        ["Delivered", stats.delivered.toLocaleString()],
        ["Waiting", (stats.pending + stats.retrying).toLocaleString()],
        ["Failed permanently", stats.failed.toLocaleString()],
        ["Signed", signedText(of)],
        ["Retries", retriesText(of.retrySchedule)],
        ["Events", of.events.join(", ")],
      ]}
    />
  </Section>
);

function Deliveries({ id, go }: { id: string; go(view: View): void }) {
  const list = useList("/api/v1/webhooks/{id}/deliveries", { params: { path: { id } } }, { everyMs: 5_000 });
  return (
    <Section title="Deliveries">
      <ListState list={list} what="Loading deliveries">
        <EmptyState title="Nothing has been delivered yet." />
      </ListState>
      {list.rows.length > 0 ? (
        <DeliveriesTable
          rows={list.rows}
          hasMore={list.hasMore}
          timeOf={(time) => <At time={time} />}
          linkOf={(row) => (
            <button type="button" onClick={() => go({ at: "delivery", id, deliveryId: row.id })}>
              {row.event}
            </button>
          )}
        />
      ) : null}
      <MoreRows of={list}>Older deliveries</MoreRows>
    </Section>
  );
}
