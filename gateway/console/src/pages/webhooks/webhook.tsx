import { type ReactNode, useState } from "react";
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
import { Sides } from "../../parts/sides.tsx";
import { Status } from "../../parts/status.tsx";
import { Time, useShortTime } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { waiting } from "../../rules/failure-sentence.ts";
import { shownHealth } from "../../rules/health.ts";
import { sending } from "../../rules/sending.ts";
import { signedText } from "../../rules/signed-text.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { Deliveries } from "./deliveries.tsx";
import { DeliveryChart } from "./delivery-chart.tsx";
import { EventExamples } from "./event-examples.tsx";
import { LatencyChart } from "./latency-chart.tsx";
import { Replays } from "./replays.tsx";
import { Warnings, WebhookNotices } from "./webhook-notices.tsx";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;

/** One webhook: its endpoint's health, its deliveries, and what can be done with it. */
export function WebhookPage() {
  const id = useRecordId("/webhooks/$id");
  const webhook = useGet("/api/v1/webhooks/{id}", { params: { path: { id } } }, { everyMs: 5_000 });
  const mayReadDeliveries = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  const [chosen, setStatus] = useState<string | null>(null);
  const isFailing = webhook.data !== undefined && shownHealth(webhook.data).tone === "bad";
  const first = useFirstStatus(id, isFailing && mayReadDeliveries);
  if (!webhook.data) return <RecordState title="Webhook" of={webhook} />;
  const { data } = webhook;
  const { word, tone } = shownHealth(data);
  const sends = <Sending of={data} isFailing={isFailing} />;
  // What arrived is read last while nothing does.
  const latency = mayReadDeliveries ? <LatencyChart id={id} /> : null;
  return (
    <>
      <PageTitle
        title={data.name}
        status={<Status of={word} tone={tone} />}
        sub={
          <span>
            <NameOf id={data.orgId} />
            {"\u00a0· "}
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
      <WebhookNotices of={data} />
      <Sides
        first={mayReadDeliveries ? sends : null}
        main={
          mayReadDeliveries ? (
            <>
              <DeliveryChart id={id} />
              <Deliveries id={id} subscribed={data.events} status={chosen ?? first} setStatus={setStatus} />
              <DeadLetters id={id} orgId={data.orgId} />
              {isFailing ? latency : null}
            </>
          ) : (
            sends
          )
        }
        side={
          <>
            {isFailing ? null : latency}
            <Warnings of={data} isAfterNotice={!isFailing} />
            <Endpoint of={data} />
          </>
        }
      />
      <Replays of={data} />
      <EventExamples subscribed={data.events} />
    </>
  );
}

/** The status of deliveries that is looked for first: of a failing webhook what failed, of those that are kept. */
function useFirstStatus(id: string, isFailing: boolean): "failed" | "retrying" | "" {
  const of = (status: string) =>
    ({ params: { path: { id }, query: { status, limit: "1", skipCount: "true" } } }) as const;
  const when = { enabled: isFailing, everyMs: 15_000 };
  const failed = useGet("/api/v1/webhooks/{id}/deliveries", of("failed"), when);
  const retrying = useGet("/api/v1/webhooks/{id}/deliveries", of("retrying"), when);
  if (!isFailing) return "";
  return failed.data?.data.length ? "failed" : failed.data && retrying.data?.data.length ? "retrying" : "";
}

/** `isFailing`: the notice above says so, and until when deliveries wait; the numbers need no colour. */
type SendingProps = { of: Webhook; isFailing: boolean };

/** How its deliveries go: what was sent, and what waits. */
function Sending({ of: { status, health, deliveryStats: stats }, isFailing }: SendingProps) {
  const short = useShortTime();
  const waits = stats.pending + stats.retrying;
  const { word, tone } = sending({ ...health, status }, (at) => short(at, "toMinute"));
  const sinceLast = health.consecutiveFailures;
  const toneOf = (usual: "bad" | "warn") => (isFailing ? undefined : usual);
  return (
    <Section title="Sending">
      <Facts
        of={[
          ["Sends", isFailing && tone === "bad" ? null : <Status key="sends" of={word} tone={tone} />],
          ["Delivered", <Counted key="good" count={stats.delivered} />],
          [
            "Failed",
            <Counted key="bad" count={stats.failed} tone={toneOf("bad")}>
              {stats.failed === 1 ? "delivery" : "deliveries"} without an attempt left
            </Counted>,
          ],
          [
            "Waiting",
            waits === 0 ? (
              "nothing"
            ) : (
              <Counted key="due" count={waits} tone={toneOf("warn")}>
                {health.oldestDueSeconds > 0 ? `oldest ${waiting(health.oldestDueSeconds)}` : "for their time"}
              </Counted>
            ),
          ],
          [
            "Attempts",
            sinceLast === 0 ? null : isFailing ? (
              <span key="attempts">
                last failed <Time at={health.lastFailureAt} />
              </span>
            ) : (
              <Counted key="attempts" count={sinceLast} tone="bad">
                failed in a row, last <Time at={health.lastFailureAt} />
              </Counted>
            ),
          ],
        ]}
        isBrief
      />
    </Section>
  );
}

type CountedProps = { count: number; tone?: "bad" | "warn" | undefined; children?: ReactNode };

/** A number, and what belongs to it where it is not none. */
const Counted = ({ count, tone, children }: CountedProps) => (
  <>
    <b className={`number ${count > 0 ? (tone ?? "") : ""}`}>{count.toLocaleString()}</b>
    {count > 0 && children ? <span className="soft"> · {children}</span> : null}
  </>
);

/** Where it sends, and how. */
const Endpoint = ({ of: data }: { of: Webhook }) => (
  <Section title="Endpoint">
    <Facts
      of={[
        ["Address", <Address key="url" of={data.url} />],
        ["Events", data.events.join(", ")],
        ["Signed", signedText(data)],
        ["Order", data.ordered ? "one at a time" : "as they come"],
        ["Retries", retriesText(data.retrySchedule)],
      ]}
    />
  </Section>
);
