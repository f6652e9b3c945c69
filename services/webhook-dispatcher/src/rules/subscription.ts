import { healthChangedType, isNamedOnly } from "@muster/kit";
import { dataOf } from "./envelope.ts";
import { type EventFilter, passes } from "./event-filter.ts";
import { anyEvent } from "./webhook.ts";

type Subscribing = { id: string; events: readonly string[]; filter: EventFilter | null };
type Matched = { type: string; body: string };

/**
 * Whether a webhook gets an event: it subscribes to its type, and its filter lets it pass. A change of health never
 * reaches the webhook that it is about: its own delivery could change its health again.
 */
export function subscribes({ id, events, filter }: Subscribing, { type, body }: Matched): boolean {
  if (!matchesType(events, type)) return false;
  if (type === healthChangedType && subjectOf(body) === id) return false;
  return filter === null || passes(filter, dataOf(body));
}

/**
 * Whether one of a webhook's entries, types and patterns such as `device.*`, stands for this type. Some types reach
 * only webhooks that name them.
 */
export function matchesType(events: readonly string[], type: string): boolean {
  if (events.includes(type)) return true;
  if (isNamedOnly(type)) return false;
  if (events[0] === anyEvent) return true;
  for (const each of events) if (each.endsWith(".*") && type.startsWith(each.slice(0, -1))) return true;
  return false;
}

function subjectOf(body: string): unknown {
  const data: unknown = JSON.parse(dataOf(body));
  return typeof data === "object" && data !== null && "webhookId" in data ? data.webhookId : null;
}
