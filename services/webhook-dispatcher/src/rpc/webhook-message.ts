import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Health, strengthOfSealed } from "@muster/kit";
import { type Webhook, WebhookSchema } from "@muster/proto/muster/webhook/v1/webhook_pb";
import type { EventFilter } from "../rules/event-filter.ts";
import { maskedValue, shownStatus } from "../rules/webhook.ts";
import type { WebhookCounters, WebhookRow } from "../store/webhooks.ts";

const noCounters: WebhookCounters = {
  success_count: 0,
  failure_count: 0,
  last_delivery_at: null,
  last_success_at: null,
};

/** A webhook as callers see it: without credentials of its receiver, and with its health where that was read. */
export function webhookMessage(row: WebhookRow, counters: WebhookCounters = noCounters, health?: Health): Webhook {
  return create(WebhookSchema, {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    url: row.url_shown,
    hasSecret: row.secret_sealed !== null,
    secretStrength: row.secret_sealed === null ? "" : strengthOfSealed(row.secret_sealed),
    events: row.events,
    headers: row.header_names.map((key) => ({ key, value: maskedValue })),
    status: shownStatus(row.status),
    ...(row.retry_policy ? { retryPolicy: row.retry_policy } : {}),
    successCount: BigInt(counters.success_count),
    failureCount: BigInt(counters.failure_count),
    ...(counters.last_delivery_at ? { lastDeliveryAt: timestampFromDate(counters.last_delivery_at) } : {}),
    ...(counters.last_success_at ? { lastSuccessAt: timestampFromDate(counters.last_success_at) } : {}),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    ordered: row.ordered,
    retrySchedule: scheduleMessage(row),
    asymmetricSignature: row.signing_key_sealed !== null,
    ...(row.filter ? { filter: filterMessage(row.filter) } : {}),
    ...(row.notify_user_ids ? { notifiedUsers: { userIds: row.notify_user_ids } } : {}),
    ...(health ? { health } : {}),
  });
}

function scheduleMessage({ retry_schedule: schedule }: WebhookRow) {
  if (schedule === null) return { name: "standard" };
  if (typeof schedule === "string") return { name: schedule };
  return { delaysSeconds: [...schedule.delaysSeconds], jitterPercent: schedule.jitterPercent };
}

const filterMessage = ({ siteIds, groupIds, labels }: EventFilter) => ({
  siteIds: [...siteIds],
  groupIds: [...groupIds],
  labels: [...labels],
});

/** A webhook as audit rows show it. */
export function auditedFields(row: WebhookRow): Record<string, unknown> {
  return {
    name: row.name,
    url: row.url_shown,
    hasSecret: row.secret_sealed !== null,
    events: row.events,
    headers: row.header_names,
    status: shownStatus(row.status),
    ordered: row.ordered,
    retrySchedule: row.retry_schedule ?? "standard",
    asymmetricSignature: row.signing_key_sealed !== null,
    filter: row.filter,
    notifyUserIds: row.notify_user_ids,
  };
}
