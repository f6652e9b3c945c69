import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OutboxMessage } from "@muster/db";
import { type CustomEventType, type EventType, type ServiceName, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { encode } from "@muster/rpc";

export type PlatformFact = {
  /** Of the catalogue, or an own type of the organization. */
  type: EventType | CustomEventType;
  orgId: string;
  partnerId: string;
  /** Sent to the organization's webhooks unchanged; the JSON text of an object as it stands. Never a secret. */
  data: Record<string, unknown> | string;
  /** Who posted it, of events that the dispatcher accepted from others. */
  postedBy?: string;
  /** A UUID of the emitter's own; a new one when absent. Repeats are recognised per (orgId, id). */
  id?: string;
};

/** Subject of an event on the bus: NATS lets each service publish below its own name alone. */
export const eventSubject = (service: ServiceName, orgId: string, type: string): string =>
  `events.${service}.${orgId}.${type}`;

/**
 * Builds the outbox row of a service's event for the organization's webhooks; emit it in the transaction that makes it
 * true.
 */
export function platformEvent(
  service: ServiceName,
  fact: PlatformFact,
  traceparent: string | null = null,
  now: Date = new Date(),
): OutboxMessage {
  const id = fact.id ?? uuidv7(now.getTime());
  const body = encode(PlatformEventSchema, {
    id,
    type: fact.type,
    timestamp: timestampFromDate(now),
    orgId: fact.orgId,
    partnerId: fact.partnerId,
    dataJson: typeof fact.data === "string" ? fact.data : JSON.stringify(fact.data),
    postedBy: fact.postedBy ?? "",
  });
  return {
    subject: eventSubject(service, fact.orgId, fact.type),
    msgId: `${fact.orgId}/${id}`,
    body,
    traceparent,
  };
}
