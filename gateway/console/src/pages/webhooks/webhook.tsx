import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, Failed, useForget, useGet, useList } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { EmptyState, FailureState, ListState, Said } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { failureSentence } from "../../rules/failure-sentence.ts";

/** One webhook: its endpoint's health, its deliveries, and what can be done with it. */
export function WebhookPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const params = { path: { id } };
  const webhook = useGet("/api/v1/webhooks/{id}", { params }, { everyMs: 5_000 });
  const [asking, ask] = useState<"delete" | "rotate" | null>(null);
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
      <PageTitle
        title={data.name}
        after={
          <small>
            {" "}
            <Status of={data.status} />
          </small>
        }
      />
      <Said>{said}</Said>
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
                void write(isActive ? "Paused: deliveries wait." : "Active: deliveries go on.", () =>
                  dataOf(
                    api.PATCH("/api/v1/webhooks/{id}", { params, body: { status: isActive ? "paused" : "active" } }),
                  ),
                )
              }
            >
              {isActive ? "Pause" : "Activate"}
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
            ["Circuit breaker", <Status key="breaker" of={health.breaker} />],
            ["Failures in a row", String(health.consecutiveFailures)],
            ["Last success", <Time key="good" at={health.lastSuccessAt} />],
            ["Last failure", <Time key="bad" at={health.lastFailureAt} />],
            [
              "Oldest due",
              health.oldestDueSeconds === 0 ? "nothing is due" : `${Math.round(health.oldestDueSeconds)} s`,
            ],
            ["Delivered", stats.delivered.toLocaleString()],
            ["Waiting", (stats.pending + stats.retrying).toLocaleString()],
            ["Failed for good", stats.failed.toLocaleString()],
            ["Signed", data.hasSecret ? "yes" : "no: set a secret"],
            ["Order", data.ordered ? "one at a time" : "as they come"],
            ["Events", data.events.join(", ")],
          ]}
        />
      </Section>
      <Deliveries id={id} />
      <DeadLetters id={id} orgId={data.orgId} onDone={say} />
      {asking === "delete" ? (
        <Confirm
          title={`Delete ${data.name}?`}
          verb="Delete"
          typed={data.name}
          onClose={() => ask(null)}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/webhooks/{id}", { params }));
            await forget("/api/v1/webhooks");
            await navigate({ to: "/webhooks", search: { orgId: data.orgId } as never });
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
          note="Give it to your receiver; it is shown this once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

const states = ["pending", "retrying", "delivered", "failed"] as const;

function Deliveries({ id }: { id: string }) {
  const [status, setStatus] = useState("");
  const list = useList(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path: { id }, query: { status } } },
    { everyMs: 5_000 },
  );
  return (
    <Section
      title="Deliveries"
      action={
        <label>
          Status{" "}
          <select value={status} onChange={(event) => setStatus(event.target.value)}>
            <option value="">all</option>
            {states.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      }
    >
      <ListState list={list} what="Loading deliveries">
        <EmptyState title={status ? "No delivery is in this state." : "Nothing has been delivered yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Event", "Status", "Answer", "Attempts", "Time"]}>
          {list.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Link to="/webhooks/$id/deliveries/$deliveryId" params={{ id, deliveryId: row.id }}>
                  {row.event}
                </Link>
              </td>
              <td>
                <Status of={row.status} />
              </td>
              <td>{row.responseStatus ?? row.errorMessage ?? ""}</td>
              <td>{row.attempt}</td>
              <td>
                <Instant at={row.createdAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      {list.hasMore ? (
        <div>
          <button type="button" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
            Older deliveries
          </button>
        </div>
      ) : null}
    </Section>
  );
}

/** Deliveries whose retries were exhausted, and what queues them anew. */
function DeadLetters({ id, orgId, onDone }: { id: string; orgId: string; onDone(sentence: string): void }) {
  const list = useList(
    "/api/v1/webhooks/dead-letters",
    { params: { query: { orgId, webhookId: id } } },
    { everyMs: 15_000 },
  );
  const forget = useForget();
  if (list.rows.length === 0 && !list.failure) return null;
  const requeue = (letter: string) =>
    void dataOf(api.POST("/api/v1/webhooks/dead-letters/{id}/requeue", { params: { path: { id: letter } } })).then(
      async () => {
        onDone("Queued anew.");
        await forget("/api/v1/webhooks");
      },
      (error: unknown) => onDone(error instanceof Failed ? `Not done. ${failureSentence(error.failure)}` : "Not done."),
    );
  return (
    <Section title="Dead letters">
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      <PlainTable columns={["Event", "Reason", "Attempts", "Since"]} hasActions>
        {list.rows.map((letter) => (
          <tr key={letter.id}>
            <td>
              <Link to="/webhooks/$id/deliveries/$deliveryId" params={{ id, deliveryId: letter.deliveryId }}>
                {letter.event}
              </Link>
            </td>
            <td>{letter.reason}</td>
            <td>{letter.attempts}</td>
            <td>
              <Instant at={letter.createdAt} />
            </td>
            <td>
              {letter.requeuedAt ? (
                "queued anew"
              ) : (
                <Operation name="POST /api/v1/webhooks/dead-letters/{id}/requeue" onClick={() => requeue(letter.id)}>
                  Deliver again
                </Operation>
              )}
            </td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}
