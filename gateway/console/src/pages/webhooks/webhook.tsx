import { useRef, useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { webhookOperations } from "../../operations/webhooks.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { Address } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { retriesText } from "../../parts/retry-schedule.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { hostOf } from "../../rules/attention.ts";
import { waiting } from "../../rules/failure-sentence.ts";
import { shownHealth } from "../../rules/health.ts";
import { signedText } from "../../rules/signed-text.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { Deliveries } from "./deliveries.tsx";
import { DeliveryChart } from "./delivery-chart.tsx";
import { EventExamples } from "./event-examples.tsx";
import { LatencyChart } from "./latency-chart.tsx";
import { Replays } from "./replays.tsx";
import styles from "./webhook.module.css";
import { WebhookNotices } from "./webhook-notices.tsx";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;

/** One webhook: its endpoint's health, its deliveries, and what can be done with it. */
export function WebhookPage() {
  const id = useRecordId("/webhooks/$id");
  const webhook = useGet("/api/v1/webhooks/{id}", { params: { path: { id } } }, { everyMs: 5_000 });
  const mayReadDeliveries = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  const [status, setStatus] = useState("");
  const deliveries = useRef<HTMLSelectElement>(null);
  const showDeliveries = (wanted: string) => {
    setStatus(wanted);
    deliveries.current?.focus();
  };
  if (!webhook.data) return <RecordState title="Webhook" of={webhook} />;
  const { data } = webhook;
  const { word, tone } = shownHealth(data);
  return (
    <>
      <PageTitle
        title={data.name}
        status={<Status of={word} tone={tone} />}
        sub={
          <span>
            <NameOf id={data.orgId} /> · {hostOf(data.url)} ·{" "}
            {data.health.lastSuccessAt ? (
              <>
                last delivery <Time at={data.health.lastSuccessAt} />
              </>
            ) : (
              "nothing was delivered yet"
            )}
          </span>
        }
        actions={<HeadOperations of={data} operations={webhookOperations} name={data.name} />}
      />
      <WebhookNotices of={data} showDeliveries={mayReadDeliveries ? showDeliveries : null} />
      {mayReadDeliveries ? (
        <div className={styles.sides}>
          <DeliveryChart id={id} />
          <LatencyChart id={id} />
        </div>
      ) : null}
      <Endpoint of={data} />
      {mayReadDeliveries ? (
        <>
          <Deliveries id={id} subscribed={data.events} status={status} setStatus={setStatus} focused={deliveries} />
          <DeadLetters id={id} orgId={data.orgId} />
        </>
      ) : null}
      <Replays of={data} />
      <EventExamples subscribed={data.events} />
    </>
  );
}

function Endpoint({ of: data }: { of: Webhook }) {
  const { health, deliveryStats: stats } = data;
  return (
    <Section title="Endpoint">
      <Facts
        of={[
          ["Address", <Address key="url" of={data.url} />],
          ["Health", <Status key="health" of={health.status} />],
          ["Circuit breaker", <Status key="breaker" of={health.breaker} />],
          ["Attempts failed", `${health.consecutiveFailures.toLocaleString()} in a row`],
          ["Last success", <Time key="good" at={health.lastSuccessAt} />],
          ["Last failure", <Time key="bad" at={health.lastFailureAt} />],
          [
            "Oldest due",
            health.oldestDueSeconds === 0 ? "nothing is due" : `waits for ${waiting(health.oldestDueSeconds)}`,
          ],
          ["Deliveries done", stats.delivered.toLocaleString()],
          ["Deliveries due", (stats.pending + stats.retrying).toLocaleString()],
          ["Deliveries failed", stats.failed.toLocaleString()],
          ["Signed", signedText(data)],
          ["Order", data.ordered ? "one at a time" : "as they come"],
          ["Retries", retriesText(data.retrySchedule)],
          ["Events", data.events.join(", ")],
        ]}
      />
    </Section>
  );
}
