import { useGet } from "../api/queries.ts";
import { lastAnswer, lastRefused } from "../rules/last-answer.ts";
import { Cause } from "./cause.tsx";
import { useWhyNot } from "./me.tsx";

/** The newest delivery that a webhook's receiver refused or did not answer; none for who may not read it. */
export function useLastRefused(id: string) {
  const mayRead = useWhyNot("GET /api/v1/webhooks/{id}/deliveries") === null;
  // Those that wait are newer, as many as they are, and were not answered.
  const newestOf = (status: string) => ({ params: { path: { id }, query: { status, limit: "1", skipCount: "true" } } });
  const options = { freshMs: 60_000, enabled: mayRead };
  const retrying = useGet("/api/v1/webhooks/{id}/deliveries", newestOf("retrying"), options);
  const failed = useGet("/api/v1/webhooks/{id}/deliveries", newestOf("failed"), options);
  return lastRefused([...(retrying.data?.data ?? []), ...(failed.data?.data ?? [])]);
}

/** What the receiver of a failing webhook answered the last time, as a sentence; empty for who may not read it. */
export const useLastAnswer = (id: string): string => lastAnswer(useLastRefused(id));

type WebhookCauseProps = { of: { id: string; health: { reason: string } } };

/** Why a failing webhook fails: what its receiver answers, and how often in a row. */
export function WebhookCause({ of: { id, health } }: WebhookCauseProps) {
  const answer = useLastAnswer(id);
  return <Cause of={[answer, health.reason].filter(Boolean).join(" ")} />;
}
