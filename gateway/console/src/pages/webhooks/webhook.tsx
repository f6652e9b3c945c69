import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, Failed, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { Said } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { searchFor, useRecordId } from "../../parts/use-filters.ts";
import { failureSentence } from "../../rules/failure-sentence.ts";
import { ChangeWebhook } from "./change-webhook.tsx";
import { DeadLetters } from "./dead-letters.tsx";
import { Deliveries } from "./deliveries.tsx";
import { DeliveryChart } from "./delivery-chart.tsx";
import { EventExamples } from "./event-examples.tsx";
import { Replays } from "./replays.tsx";
import { retriesText } from "./retry-schedule.tsx";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;
type Asking = "change" | "delete" | "rotate" | null;

const signedText = ({
  hasSecret,
  secretStrength,
}: {
  hasSecret: boolean;
  secretStrength: "weak" | "strong" | null;
}) => {
  if (!hasSecret) return "no: rotate the secret to get one";
  return secretStrength === "weak" ? "yes, by a weak secret: rotate it to get a generated one" : "yes";
};

/** One webhook: its endpoint's health, its deliveries, and what can be done with it. */
export function WebhookPage() {
  const id = useRecordId();
  const params = { path: { id } };
  const webhook = useGet("/api/v1/webhooks/{id}", { params }, { everyMs: 5_000 });
  const mayReadDeliveries = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  const [asking, ask] = useState<Asking>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [said, say] = useState<string | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  if (!webhook.data) return <RecordState title="Webhook" of={webhook} />;
  const { data } = webhook;
  const { health, deliveryStats: stats } = data;
  const write = async (done: string, work: () => Promise<unknown>) => {
    try {
      await work();
      say(done);
      await forget("/api/v1/webhooks");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(`Not done. ${failureSentence(error.failure)}`);
    }
  };
  const isActive = data.status === "active";
  return (
    <>
      <PageTitle title={data.name} status={data.status} />
      <Said>{said}</Said>
      <Endpoint data={data} ask={ask} isActive={isActive} write={write} params={params} health={health} stats={stats} />
      {mayReadDeliveries ? (
        <>
          <DeliveryChart id={id} />
          <Deliveries id={id} subscribed={data.events} />
          <DeadLetters id={id} orgId={data.orgId} onDone={say} />
        </>
      ) : null}
      <Replays id={id} onDone={say} />
      <EventExamples subscribed={data.events} />
      <WebhookQuestions
        data={data}
        asking={asking}
        ask={ask}
        params={params}
        say={say}
        forget={forget}
        secret={secret}
        setSecret={setSecret}
        navigate={navigate}
        stats={stats}
      />
    </>
  );
}

function WebhookQuestions({
  data,
  asking,
  ask,
  params,
  say,
  forget,
  secret,
  setSecret,
  navigate,
  stats,
}: {
  data: Webhook;
  asking: Asking;
  ask(what: Asking): void;
  params: { path: { id: string } };
  say(sentence: string): void;
  forget: ReturnType<typeof useForget>;
  secret: string | null;
  setSecret(secret: string | null): void;
  navigate: ReturnType<typeof useNavigate>;
  stats: Webhook["deliveryStats"];
}) {
  return (
    <>
      {asking === "change" ? (
        <ChangeWebhook
          of={data}
          onClose={() => ask(null)}
          onDone={async (sentence) => {
            say(sentence);
            await forget("/api/v1/webhooks");
          }}
        />
      ) : null}
      {asking === "delete" ? (
        <Confirm
          title={`Delete ${data.name}?`}
          verb="Delete"
          typed={data.name}
          onClose={() => ask(null)}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/webhooks/{id}", { params }));
            await forget("/api/v1/webhooks");
            await navigate({ to: "/webhooks", search: searchFor({ orgId: data.orgId }) });
          }}
        >
          <p>
            {(stats.pending + stats.retrying).toLocaleString()} waiting deliveries are dropped, and{" "}
            {stats.total.toLocaleString()} recorded ones go with it.
          </p>
        </Confirm>
      ) : null}
      {asking === "rotate" ? (
        <Confirm
          title="Rotate the secret?"
          verb="Rotate"
          onClose={() => ask(null)}
          action={async () => {
            const { secret: next } = await dataOf(
              api.POST("/api/v1/webhooks/{id}/rotate-secret", { params, body: {} }),
            );
            setSecret(next);
            await forget("/api/v1/webhooks");
          }}
        >
          <p>Deliveries are signed with both secrets for a while, so that your receiver can change over.</p>
        </Confirm>
      ) : null}
      {secret === null ? null : (
        <SecretOnce
          title="The new secret"
          secret={secret}
          note="Give it to your receiver; it is shown only once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

function Endpoint({
  data,
  ask,
  isActive,
  write,
  params,
  health,
  stats,
}: {
  data: Webhook;
  ask(what: Asking): void;
  isActive: boolean;
  write(done: string, work: () => Promise<unknown>): Promise<void>;
  params: { path: { id: string } };
  health: Webhook["health"];
  stats: Webhook["deliveryStats"];
}) {
  return (
    <Section
      title="Endpoint"
      action={
        <div>
          <Operation
            name="POST /api/v1/webhooks/{id}/test"
            onClick={() =>
              void write("A test event is on its way.", () =>
                dataOf(api.POST("/api/v1/webhooks/{id}/test", { params, body: {} })),
              )
            }
          >
            Send a test
          </Operation>{" "}
          <Operation
            name="PATCH /api/v1/webhooks/{id}"
            onClick={() =>
              void write(isActive ? "Paused: deliveries wait." : "Active: deliveries continue.", () =>
                dataOf(
                  api.PATCH("/api/v1/webhooks/{id}", { params, body: { status: isActive ? "paused" : "active" } }),
                ),
              )
            }
          >
            {isActive ? "Pause" : "Activate"}
          </Operation>{" "}
          <Operation name="PATCH /api/v1/webhooks/{id}" onClick={() => ask("change")}>
            Change …
          </Operation>{" "}
          <Operation name="POST /api/v1/webhooks/{id}/rotate-secret" onClick={() => ask("rotate")}>
            Rotate secret …
          </Operation>{" "}
          <Operation name="DELETE /api/v1/webhooks/{id}" onClick={() => ask("delete")}>
            Delete …
          </Operation>
        </div>
      }
    >
      <Facts
        of={[
          ["Address", data.url],
          ["Health", <Status key="health" of={health.status} />],
          ["Why", health.reason],
          ["Circuit breaker", <Status key="breaker" of={health.breaker} />],
          ["Failures in a row", String(health.consecutiveFailures)],
          ["Last success", <Time key="good" at={health.lastSuccessAt} />],
          ["Last failure", <Time key="bad" at={health.lastFailureAt} />],
          ["Oldest due", health.oldestDueSeconds === 0 ? "nothing is due" : `${Math.round(health.oldestDueSeconds)} s`],
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
