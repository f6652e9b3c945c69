import { useGet } from "../api/queries.ts";
import { lastAnswer } from "../rules/last-answer.ts";
import { Cause } from "./cause.tsx";
import { useWhyNot } from "./me.tsx";

/** What the receiver of a failing webhook answered the last time, as a sentence; empty for who may not read it. */
export function useLastAnswer(id: string): string {
  const mayRead = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  // Those that wait are newer, as many as they are, and were not answered.
  const newestOf = (status: string) => ({ params: { path: { id }, query: { status, limit: "1", skipCount: "true" } } });
  const options = { freshMs: 60_000, enabled: mayRead };
  const retrying = useGet("/api/v1/webhooks/{id}/deliveries", newestOf("retrying"), options);
  const failed = useGet("/api/v1/webhooks/{id}/deliveries", newestOf("failed"), options);
  return lastAnswer([...(retrying.data?.data ?? []), ...(failed.data?.data ?? [])]);
}

type WebhookCauseProps = { of: { id: string; health: { reason: string } } };

/** Why a failing webhook fails: what its receiver answers, and how often in a row. */
export function WebhookCause({ of: { id, health } }: WebhookCauseProps) {
  const answer = useLastAnswer(id);
  return <Cause of={[answer, health.reason].filter(Boolean).join(" ")} />;
}
