import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  AttemptSchema,
  type DeadLetter,
  DeadLetterSchema,
  type Delivery,
  DeliverySchema,
} from "@muster/proto/muster/webhook/v1/delivery_pb";
import { dataOf } from "../rules/envelope.ts";
import { callerOf, sourceOf } from "../rules/poster.ts";
import type { AttemptRow, DeadLetterRow, DeliveryRow } from "../store/deliveries.ts";

export function deliveryMessage(row: DeliveryRow): Delivery {
  const caller = callerOf(row.poster);
  return create(DeliverySchema, {
    id: row.id,
    webhookId: row.webhook_id,
    orgId: row.org_id,
    status: row.status,
    event: row.event,
    eventId: row.event_id,
    payloadJson: row.body === null ? "{}" : dataOf(row.body),
    attempt: row.attempt,
    ...(row.next_attempt_at ? { nextAttemptAt: timestampFromDate(row.next_attempt_at) } : {}),
    createdAt: timestampFromDate(row.created_at),
    ...(row.delivered_at ? { deliveredAt: timestampFromDate(row.delivered_at) } : {}),
    ...present("responseStatus", row.response_status),
    ...present("responseBody", row.response_body),
    ...present("responseTimeMs", row.response_time_ms),
    ...present("errorMessage", row.error_message),
    source: sourceOf(row.poster) ?? "",
    postedByType: caller?.type ?? "",
    postedById: caller?.id ?? "",
    origin: row.origin,
    repeats: row.retry_of ?? "",
  });
}

export function attemptMessage(row: AttemptRow): Attempt {
  return create(AttemptSchema, {
    number: row.number,
    startedAt: timestampFromDate(row.started_at),
    ...present("connectedMs", row.connected_ms),
    ...present("headersMs", row.headers_ms),
    ...present("totalMs", row.total_ms),
    remoteAddress: row.remote_address ?? "",
    reused: row.reused,
    interrupted: row.interrupted,
    possibleDuplicate: row.possible_duplicate,
    requestHeadersJson: JSON.stringify(row.request_headers ?? {}),
    ...present("responseStatus", row.response_status),
    ...present("responseBody", row.response_body),
    errorCode: row.error_code ?? "",
    errorMessage: row.error_message ?? "",
  });
}

export function deadLetterMessage(row: DeadLetterRow): DeadLetter {
  return create(DeadLetterSchema, {
    id: row.id,
    webhookId: row.webhook_id,
    orgId: row.org_id,
    deliveryId: row.delivery_id,
    event: row.event,
    eventId: row.event_id,
    reason: row.reason,
    attempts: row.attempts,
    createdAt: timestampFromDate(row.created_at),
    ...(row.requeued_at ? { requeuedAt: timestampFromDate(row.requeued_at) } : {}),
  });
}

function present<K extends string, V>(name: K, value: V | null): { [key in K]?: V } {
  return value === null ? {} : ({ [name]: value } as { [key in K]?: V });
}
