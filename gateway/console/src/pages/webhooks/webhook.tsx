import { CircleAlert } from "lucide-react";
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
import { WebhookCause } from "../../parts/webhook-cause.tsx";
import { WebhookWarnings } from "../../parts/webhook-warnings.tsx";
import { hostOf } from "../../rules/attention.ts";
import { counted } from "../../rules/counted.ts";
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

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;

/** One webhook: its endpoint's health, its deliveries, and what can be done with it. */
export function WebhookPage() {
  const id = useRecordId("/webhooks/$id");
  const webhook = useGet("/api/v1/webhooks/{id}", { params: { path: { id } } }, { everyMs: 5_000 });
  const mayReadDeliveries = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
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
      {tone === "bad" ? <WhyItFails of={data} /> : null}
      <WebhookWarnings of={data} />
      {mayReadDeliveries ? (
        <div className={styles.sides}>
          <DeliveryChart id={id} />
          <LatencyChart id={id} />
        </div>
      ) : null}
      <Endpoint of={data} />
      {mayReadDeliveries ? (
        <>
          <Deliveries id={id} subscribed={data.events} />
          <DeadLetters id={id} orgId={data.orgId} />
        </>
      ) : null}
      <Replays of={data} />
      <EventExamples subscribed={data.events} />
    </>
  );
}

/** Why its deliveries fail, and since when, before all else. */
function WhyItFails({ of: webhook }: { of: Webhook }) {
  const { health, deliveryStats: stats } = webhook;
  const waits = stats.pending + stats.retrying;
  return (
    <p role="note" className={styles.why}>
      <CircleAlert size={17} aria-hidden />
      <span>
        <b>Deliveries fail.</b>{" "}
        <span className="soft">
          <WebhookCause of={webhook} />
          {waits > 0 ? ` ${counted(waits, "deliveries")} wait${waits === 1 ? "s" : ""}` : ""}
          {waits > 0 && health.oldestDueSeconds > 0 ? `, the oldest for ${waiting(health.oldestDueSeconds)}` : ""}
          {waits > 0 ? "." : ""}
        </span>
      </span>
    </p>
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
          ["Failures in a row", String(health.consecutiveFailures)],
          ["Last success", <Time key="good" at={health.lastSuccessAt} />],
          ["Last failure", <Time key="bad" at={health.lastFailureAt} />],
          [
            "Oldest due",
            health.oldestDueSeconds === 0 ? "nothing is due" : `waits for ${waiting(health.oldestDueSeconds)}`,
          ],
          ["Delivered", stats.delivered.toLocaleString()],
          ["Waiting", (stats.pending + stats.retrying).toLocaleString()],
          ["Failed permanently", stats.failed.toLocaleString()],
          ["Signed", signedText(data)],
          ["Order", data.ordered ? "one at a time" : "as they come"],
          ["Retries", retriesText(data.retrySchedule)],
          ["Events", data.events.join(", ")],
        ]}
      />
    </Section>
  );
}
