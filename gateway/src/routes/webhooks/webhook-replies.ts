import type {
  EventFilter,
  RetryPolicy,
  RetrySchedule,
  Webhook,
  WebhookHealth,
} from "@muster/proto/muster/webhook/v1/webhook_pb";
import type { z } from "zod";
import { healthStatusOf } from "../fields/health.ts";
import { timeOf, timeOrNull } from "../fields/schemas.ts";
import { strengthOf } from "../fields/signing-secret.ts";
import {
  health,
  type listedWebhook,
  type retryPolicy,
  retrySchedule,
  type webhook,
  webhookStatus,
} from "./webhook-fields.ts";

export function webhookOf(message: Webhook | undefined): z.input<typeof webhook> {
  if (!message) throw new Error("the dispatcher answered without a webhook");
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    url: message.url,
    hasSecret: message.hasSecret,
    secretStrength: strengthOf(message.secretStrength),
    warnings: warningsOf(message),
    events: message.events,
    headers: message.headers.map(({ key, value }) => ({ key, value })),
    status: webhookStatus.parse(message.status),
    ordered: message.ordered,
    retryPolicy: policyOf(message.retryPolicy),
    retrySchedule: scheduleOf(message.retrySchedule),
    asymmetricSignature: message.asymmetricSignature,
    filter: filterOut(message.filter),
    notifyUserIds: message.notifiedUsers?.userIds ?? null,
    successCount: Number(message.successCount),
    failureCount: Number(message.failureCount),
    lastDeliveryAt: timeOrNull(message.lastDeliveryAt),
    lastSuccessAt: timeOrNull(message.lastSuccessAt),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

/** What a receiver cannot rely on, with the way out. */
function warningsOf({ url, hasSecret, secretStrength, asymmetricSignature }: Webhook): string[] {
  const isSigned = hasSecret || asymmetricSignature;
  return [
    ...(isSigned ? [] : ["Deliveries are not signed: anybody can forge one. A rotation gives it a secret."]),
    ...(secretStrength === "weak" ? ["The secret is weak: rotate it to get a generated one."] : []),
    ...(/^http:/i.test(url) ? ["The address is plain http: deliveries can be read and changed on the way."] : []),
  ];
}

/** A webhook of a list. */
export function listedWebhookOf(message: Webhook): z.input<typeof listedWebhook> {
  return { ...webhookOf(message), health: healthStatusOf(message.health) };
}

export function healthOf(message: WebhookHealth | undefined, webhook: Webhook | undefined): z.input<typeof health> {
  if (!message) throw new Error("the dispatcher answered without the endpoint's health");
  return {
    ...healthStatusOf(webhook?.health),
    breaker: health.shape.breaker.parse(message.breaker),
    openUntil: timeOrNull(message.openUntil),
    consecutiveFailures: Number(message.failedAttempts),
    consecutiveFailedDeliveries: Number(message.failedDeliveries),
    failingSince: timeOrNull(message.failingSince),
    lastSuccessAt: timeOrNull(message.lastSuccessAt),
    lastFailureAt: timeOrNull(message.lastFailureAt),
    oldestDueSeconds: message.oldestDueSeconds,
    nextAttemptAt: timeOrNull(message.nextAttemptAt),
    inFlight: message.inFlight,
    failedReason: health.shape.failedReason.parse(message.failedReason || null),
  };
}

function policyOf(policy: RetryPolicy | undefined): z.input<typeof retryPolicy> | null {
  if (!policy) return null;
  const { maxRetries, initialDelayMs, backoffMultiplier, maxDelayMs } = policy;
  return { maxRetries, initialDelayMs, backoffMultiplier, maxDelayMs };
}

type Schedule = z.output<typeof retrySchedule>;

function scheduleOf(message: RetrySchedule | undefined): Schedule {
  const { name = "standard", delaysSeconds = [], jitterPercent = 0 } = message ?? {};
  return name === "" ? { delaysSeconds, jitterPercent } : retrySchedule.parse(name);
}

function filterOut(filter: EventFilter | undefined) {
  if (!filter) return null;
  const { siteIds, groupIds, labels } = filter;
  return { siteIds, groupIds, labels };
}

type Filter = { siteIds?: string[] | undefined; groupIds?: string[] | undefined; labels?: string[] | undefined };

/** A filter as the dispatcher takes it; nothing without one. */
export function filterInput(filter: Filter | null | undefined) {
  if (!filter) return {};
  const { siteIds = [], groupIds = [], labels = [] } = filter;
  return { filter: { siteIds, groupIds, labels } };
}

/** A schedule as the dispatcher takes it. */
export function scheduleInput(schedule: Schedule | undefined) {
  if (schedule === undefined || typeof schedule === "string") return { name: schedule ?? "standard" };
  return { delaysSeconds: schedule.delaysSeconds, jitterPercent: schedule.jitterPercent ?? 0 };
}
