import { Link } from "@tanstack/react-router";
import { api } from "../../api/api.ts";
import { dataOf, Failed, useForget, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { Operation } from "../../parts/operation.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { failureSentence } from "../../rules/failure-sentence.ts";
import { reasonSentence } from "../../rules/reason-sentences.ts";

/** Deliveries whose retries were exhausted, and the action that queues them again. */
export function DeadLetters({ id, orgId, onDone }: { id: string; orgId: string; onDone(sentence: string): void }) {
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
        onDone("Queued again.");
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
              <Link {...toRecord("/webhooks/$id/deliveries/$deliveryId", { id, deliveryId: letter.deliveryId })}>
                {letter.event}
              </Link>
            </td>
            <td>{reasonSentence(letter.reason)}</td>
            <td>{letter.attempts}</td>
            <td>
              <Instant at={letter.createdAt} />
            </td>
            <td>
              {letter.requeuedAt ? (
                "queued again"
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
