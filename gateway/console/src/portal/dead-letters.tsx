import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, Failed, useForget, useList } from "../api/queries.ts";
import { Section } from "../parts/facts.tsx";
import { MoreRows } from "../parts/more-rows.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import { FailureState } from "../parts/states.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import { reasonSentence } from "../rules/reason-sentences.ts";
import { At, type ViewProps } from "./view-parts.tsx";

type AllDeadLettersProps = ViewProps & { nameOf(webhookId: string): string };

/** Deliveries of all webhooks whose retries are exhausted; nothing when there is none. */
export function AllDeadLetters({ may, go, nameOf }: AllDeadLettersProps) {
  const list = useList("/api/v1/webhooks/dead-letters", {}, { everyMs: 15_000 });
  const forget = useForget();
  const [said, say] = useState("");
  if (list.rows.length === 0 && !list.failure) return null;
  const mayRequeue = may("resend_deliveries");

  async function requeue(id: string): Promise<void> {
    try {
      await dataOf(api.POST("/api/v1/webhooks/dead-letters/{id}/requeue", { params: { path: { id } } }));
      say("Queued again.");
      await forget("/api/v1/webhooks");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(`Not done. ${failureSentence(error.failure)}`);
    }
  }

  return (
    <Section title="Dead letters">
      <p role="status">{said}</p>
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      <PlainTable
        columns={["Event", "Webhook", "Reason", "Attempts", "Since"]}
        {...(mayRequeue ? { hasActions: true } : {})}
      >
        {list.rows.map(({ id, webhookId, deliveryId, ...letter }) => (
          <tr key={id}>
            <td>
              <button type="button" onClick={() => go({ at: "delivery", id: webhookId, deliveryId })}>
                {letter.event}
              </button>
            </td>
            <td>{nameOf(webhookId)}</td>
            <td>{reasonSentence(letter.reason)}</td>
            <td>{letter.attempts}</td>
            <td>
              <At time={letter.createdAt} />
            </td>
            {mayRequeue ? (
              <td>
                {letter.requeuedAt ? (
                  "queued again"
                ) : (
                  <button type="button" onClick={() => void requeue(id)}>
                    Deliver again
                  </button>
                )}
              </td>
            ) : null}
          </tr>
        ))}
      </PlainTable>
      <MoreRows of={list}>Older dead letters</MoreRows>
    </Section>
  );
}
