import { healthChangedType, isNamedOnly } from "@muster/kit";
import { dataOf } from "./envelope.ts";
import { anyEvent } from "./webhook.ts";

type Subscribing = { id: string; events: readonly string[] };
type Matched = { type: string; body: string };

/**
 * Whether a webhook gets an event. Some types reach only webhooks that name them. A change of health never reaches the
 * webhook that it is about: its own delivery could change its health again.
 */
export function subscribes({ id, events }: Subscribing, { type, body }: Matched): boolean {
  const isNamed = events.includes(type);
  if (!isNamedOnly(type)) return events[0] === anyEvent || isNamed;
  return isNamed && (type !== healthChangedType || subjectOf(body) !== id);
}

function subjectOf(body: string): unknown {
  const data: unknown = JSON.parse(dataOf(body));
  return typeof data === "object" && data !== null && "webhookId" in data ? data.webhookId : null;
}
