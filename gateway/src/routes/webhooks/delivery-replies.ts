import type { Attempt, DeadLetter, Delivery } from "@muster/proto/muster/webhook/v1/delivery_pb";
import type { z } from "zod";
import { withOpaque } from "../fields/opaque.ts";
import { objectOf, timeOf, timeOrNull } from "../fields/schemas.ts";
import {
  type deadLetter,
  type delivery,
  type deliveryAttempt,
  deliveryStatus,
  origin,
  postedBy,
  source,
} from "./delivery-fields.ts";

/** The JSON of a delivery, with further members. */
export function deliveryText(message: Delivery | undefined, more: object = {}): string {
  return withOpaque({ ...deliveryOf(message), ...more }, "payload", message?.payloadJson ?? "");
}

/** A delivery without what belongs to others. */
export type Shown = Omit<z.input<typeof delivery>, "payload">;

export function deliveryOf(message: Delivery | undefined): Shown {
  if (!message) throw new Error("the dispatcher answered without a delivery");
  return {
    id: message.id,
    webhookId: message.webhookId,
    orgId: message.orgId,
    status: deliveryStatus.parse(message.status),
    event: message.event,
    eventId: message.eventId,
    ...emitterOf(message),
    origin: origin.parse(message.origin),
    repeats: message.repeats || null,
    responseStatus: message.responseStatus ?? null,
    responseBody: message.responseBody ?? null,
    responseTimeMs: message.responseTimeMs ?? null,
    errorMessage: message.errorMessage ?? null,
    attempt: message.attempt,
    nextAttemptAt: timeOrNull(message.nextAttemptAt),
    createdAt: timeOf(message.createdAt),
    deliveredAt: timeOrNull(message.deliveredAt),
  };
}

/** Who emitted an event. */
export function emitterOf(message: Pick<Delivery, "source" | "postedByType" | "postedById">) {
  const { postedByType: type, postedById: poster } = message;
  return {
    source: message.source === "" ? null : source.parse(message.source),
    postedBy: poster === "" ? null : postedBy.parse({ type, id: poster }),
  };
}

export function queuedOf({ id: own, status: state, attempt: made }: Shown) {
  return { id: own, status: state, attempt: made };
}

export function deliveryAttemptOf(message: Attempt): z.input<typeof deliveryAttempt> {
  return {
    number: message.number,
    startedAt: timeOf(message.startedAt),
    connectedMs: message.connectedMs ?? null,
    headersMs: message.headersMs ?? null,
    totalMs: message.totalMs ?? null,
    remoteAddress: message.remoteAddress || null,
    reused: message.reused,
    interrupted: message.interrupted,
    possibleDuplicate: message.possibleDuplicate,
    requestHeaders: objectOf(message.requestHeadersJson),
    responseStatus: message.responseStatus ?? null,
    responseBody: message.responseBody ?? null,
    errorCode: message.errorCode || null,
    errorMessage: message.errorMessage || null,
  };
}

export function deadLetterOf(message: DeadLetter): z.input<typeof deadLetter> {
  return {
    id: message.id,
    webhookId: message.webhookId,
    orgId: message.orgId,
    deliveryId: message.deliveryId,
    event: message.event,
    eventId: message.eventId,
    reason: message.reason,
    attempts: message.attempts,
    createdAt: timeOf(message.createdAt),
    requeuedAt: timeOrNull(message.requeuedAt),
  };
}
