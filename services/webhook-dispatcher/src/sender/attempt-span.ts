import { endSpan, SpanKind, startFollowing, withSpan } from "@muster/kit";
import type { Outcome } from "../store/outcomes.ts";
import type { Claimed, Payload } from "../store/queue.ts";

/** Runs one attempt inside a span of its event's trace, if that was sampled. */
export async function traced(
  claim: Claimed,
  payload: Payload | null,
  run: () => Promise<Outcome | null>,
): Promise<Outcome | null> {
  const attributes = {
    "muster.delivery_id": claim.delivery_id,
    "muster.webhook_id": claim.webhook_id,
    "muster.attempt": claim.attempt,
  };
  const span = startFollowing("webhook attempt", SpanKind.CLIENT, attributes, payload?.traceparent ?? null);
  if (!span) return await run();
  let code = "interrupted";
  try {
    const outcome = await withSpan(span, run);
    if (outcome) code = outcome.attempt.errorCode ?? "ok";
    if (outcome?.attempt.status) span.setAttribute("http.response.status_code", outcome.attempt.status);
    return outcome;
  } finally {
    endSpan(span, code);
  }
}
