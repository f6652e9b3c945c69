import { useGet } from "../api/queries.ts";
import { lastAnswer } from "../rules/last-answer.ts";
import { Cause } from "./cause.tsx";
import { useWhyNot } from "./me.tsx";

/** What the receiver of a failing webhook answered the last time, as a sentence; empty for who may not read it. */
export function useLastAnswer(id: string): string {
  const mayRead = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  const { data } = useGet(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path: { id }, query: { limit: "5", skipCount: "true" } } },
    { freshMs: 60_000, enabled: mayRead },
  );
  return lastAnswer(data?.data ?? []);
}

type WebhookCauseProps = { of: { id: string; health: { reason: string } } };

/** Why a failing webhook fails: what its receiver answers, and how often in a row. */
export function WebhookCause({ of: { id, health } }: WebhookCauseProps) {
  const answer = useLastAnswer(id);
  return <Cause of={[answer, health.reason].filter(Boolean).join(" ")} />;
}
