import { Link } from "@tanstack/react-router";
import { useList } from "../../api/queries.ts";
import { requeue } from "../../operations/deliveries.tsx";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { reasonSentence } from "../../rules/reason-sentences.ts";

/** Deliveries whose retries were exhausted, and the action that queues them again. */
export function DeadLetters({ id, orgId }: { id: string; orgId: string }) {
  const list = useList(
    "/api/v1/webhooks/dead-letters",
    { params: { query: { orgId, webhookId: id } } },
    { everyMs: 15_000 },
  );
  if (list.rows.length === 0 && !list.failure) return null;
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
            <td>{letter.requeuedAt ? "queued again" : <OperationButton of={letter} operation={requeue} />}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}
