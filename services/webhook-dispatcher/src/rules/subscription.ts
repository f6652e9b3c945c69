import { healthChangedType } from "@muster/kit";
import { dataOf } from "./envelope.ts";
import { anyEvent } from "./webhook.ts";

type Subscribing = { id: string; events: readonly string[] };
type Matched = { type: string; body: string };

/**
 * Whether a webhook gets an event. A change of health reaches only webhooks that name its type, and never the webhook
 * that it is about: its own delivery could change its health again.
 */
export function subscribes({ id, events }: Subscribing, { type, body }: Matched): boolean {
  if (type !== healthChangedType) return events[0] === anyEvent || events.includes(type);
  return events.includes(type) && subjectOf(body) !== id;
}

function subjectOf(body: string): unknown {
  const data: unknown = JSON.parse(dataOf(body));
  return typeof data === "object" && data !== null && "webhookId" in data ? data.webhookId : null;
}
