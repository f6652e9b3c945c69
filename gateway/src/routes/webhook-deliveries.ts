import { eventTypes, testEventType } from "@muster/kit";
import type { Attempt, DeadLetter, Delivery } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { z } from "zod";
import { Rendered } from "../http/reply.ts";
import { type Route, route } from "../route.ts";
import { renderedPage, withOpaque } from "./opaque.ts";
import {
  id,
  idOut,
  idParams,
  listedIn,
  listQuery,
  objectIn,
  objectOf,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
} from "./schemas.ts";

const tag = "Webhooks";

const status = z.enum(["pending", "delivered", "failed", "retrying"]);
export const sentType = z.enum([...eventTypes, testEventType]);
const source = z.enum(["platform", "api"]);
const postedBy = z.object({ type: z.enum(["user", "api_key"]), id: z.string() });

const delivery = z
  .object({
    id: idOut.meta({ description: "`X-Service-Delivery-Id`, the same for every retry." }),
    webhookId: idOut,
    orgId: idOut,
    status,
    event: z.string(),
    eventId: idOut,
    source: source.nullable().meta({
      description: "Whether Muster emitted the event or a caller posted it; null when an earlier version stored it.",
    }),
    postedBy: postedBy.nullable().meta({ description: "The caller who posted the event, or requested the test." }),
    payload: objectOut.meta({ description: "`data` of the sent event, as it was posted." }),
    responseStatus: z.int().nullable(),
    responseBody: z.string().nullable().meta({ description: "First 1,000 characters of the response's body." }),
    responseTimeMs: z.int().nullable(),
    errorMessage: z.string().nullable(),
    attempt: z.int().meta({ description: "Attempts made so far." }),
    nextAttemptAt: timeOut.nullable(),
    createdAt: timeOut,
    deliveredAt: timeOut.nullable(),
  })
  .meta({ id: "WebhookDelivery" });

const attempt = z
  .object({
    number: z.int(),
    startedAt: timeOut,
    connectedMs: z
      .int()
      .nullable()
      .meta({ description: "Milliseconds from the attempt's start to the open connection." }),
    headersMs: z.int().nullable(),
    totalMs: z.int().nullable(),
    remoteAddress: z.string().nullable(),
    reused: z.boolean().meta({ description: "Sent over a connection that was open already." }),
    interrupted: z.boolean().meta({
      description: "The sender ended before it stored an outcome; the webhook may have handled the request.",
    }),
    possibleDuplicate: z.boolean().meta({ description: "The request was marked as a replay." }),
    requestHeaders: objectOut,
    responseStatus: z.int().nullable(),
    responseBody: z.string().nullable(),
    errorCode: z.string().nullable(),
    errorMessage: z.string().nullable(),
  })
  .meta({ id: "WebhookAttempt" });

const deadLetter = z
  .object({
    id: idOut,
    webhookId: idOut,
    orgId: idOut,
    deliveryId: idOut,
    event: z.string(),
    eventId: idOut,
    reason: z.string(),
    attempts: z.int(),
    createdAt: timeOut,
    requeuedAt: timeOut.nullable(),
  })
  .meta({ id: "WebhookDeadLetter" });

const deliveryParams = z.object({ id, deliveryId: id });
const queued = z.object({ id: idOut, status, attempt: z.int() });

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;

const list = route({
  method: "GET",
  path: "/webhooks/:id/deliveries",
  access: read,
  tag,
  summary: "Deliveries of a webhook, newest first",
  params: idParams,
  query: listQuery.extend({
    status: status.optional().meta({ description: only.equal }),
    event: sentType.optional().meta({ description: only.equal, example: "device.offline" }),
    from: timeIn.optional().meta({ description: "Only records queued at this time or later." }),
    to: timeIn.optional().meta({ description: "Only records queued before this time." }),
    answer: z
      .string()
      .regex(/^(?:[1-5](?:\d\d|xx)|none)$/, "A status such as 404, a class such as 5xx, or none")
      .optional()
      .meta({
        description: "Only records with this last answer of the webhook: a status, a class, or `none`.",
        example: "5xx",
      }),
  }),
  reply: z.object({ data: z.array(delivery), pagination }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = {
      webhookId: params.id,
      page: pageOf(query),
      status: query.status ?? "",
      event: query.event ?? "",
      from: timestampOf(query.from),
      to: timestampOf(query.to),
      answer: query.answer ?? "",
    };
    const reply = await services.deliveries.listDeliveries(wanted, await rpc());
    return renderedPage(
      reply.deliveries.map((each) => deliveryText(each)),
      paginationOf(reply.page),
    );
  },
});

const get = route({
  method: "GET",
  path: "/webhooks/:id/deliveries/:deliveryId",
  access: read,
  tag,
  summary: "One delivery with its attempts",
  params: deliveryParams,
  reply: delivery.extend({ attempts: z.array(attempt) }),
  errors: ["webhook_not_found", "delivery_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const wanted = { webhookId: params.id, id: params.deliveryId };
    const reply = await services.deliveries.getDelivery(wanted, await rpc());
    return new Rendered(deliveryText(reply.delivery, { attempts: reply.attempts.map(attemptOf) }));
  },
});

const bucket = z.object({
  at: timeOut.meta({ description: "Start of the bucket." }),
  delivered: z.int(),
  failed: z.int(),
  open: z.int().meta({ description: "Number of pending and retrying deliveries." }),
});

const stats = route({
  method: "GET",
  path: "/webhooks/:id/stats",
  access: read,
  tag,
  summary: "Outcomes of a webhook's deliveries, in buckets of time",
  description: "By the time at which each delivery was queued; its retries change that bucket.",
  params: idParams,
  query: z.object({
    hours: z
      .enum(["1", "4", "24", "48", "168"])
      .optional()
      .meta({ description: "Length of the time before the request, in hours.", default: "24" }),
  }),
  reply: z.object({
    bucketSeconds: z.int(),
    buckets: z.array(bucket).meta({ description: "Every bucket of the time, the oldest first." }),
    countedFrom: timeOut.nullable().meta({
      description: "The newest 100,000 deliveries were counted, back to this time; null when all were.",
    }),
  }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = { webhookId: params.id, hours: Number(query.hours ?? 24) };
    const reply = await services.deliveries.countDeliveries(wanted, await rpc());
    return {
      bucketSeconds: reply.bucketSeconds,
      buckets: reply.buckets.map(({ at, delivered, failed, open }) => ({
        at: timeOf(at),
        delivered: Number(delivered),
        failed: Number(failed),
        open: Number(open),
      })),
      countedFrom: timeOrNull(reply.countedFrom),
    };
  },
});

const test = route({
  method: "POST",
  path: "/webhooks/:id/test",
  audit: "webhook.test",
  access: write,
  tag,
  summary: "Send a test event to this webhook alone",
  params: idParams,
  body: z.object({
    event: listedIn(sentType.options)
      .min(1)
      .optional()
      .meta({ description: "Type of the event.", default: "webhook.test" }),
    payload: objectIn
      .optional()
      .meta({ description: "`data` of the event; without it, a message, the time and the webhook's id." }),
  }),
  opaque: "payload",
  bodyLimitBytes: 96 * 1024,
  status: 202,
  idempotent: true,
  reply: z.object({
    message: z.string(),
    delivery: queued.extend({ webhookId: idOut, event: z.string() }),
  }),
  errors: ["webhook_not_found", "unknown_event_type", "site_restricted"],
  async handle({ params, body, opaqueJson: payloadJson, rpc }, { services }) {
    const wanted = { webhookId: params.id, event: body.event ?? "", payloadJson };
    const made = deliveryOf((await services.deliveries.testWebhook(wanted, await rpc())).delivery);
    const { webhookId, event } = made;
    return { message: "Test delivery queued", delivery: { ...queuedOf(made), webhookId, event } };
  },
});

const retry = route({
  method: "POST",
  path: "/webhooks/:id/retry/:deliveryId",
  audit: "webhook.retry",
  access: write,
  tag,
  summary: "Queue a failed delivery again",
  description: "Creates a new record; the failed one stays.",
  params: deliveryParams,
  status: 202,
  idempotent: true,
  reply: z.object({ message: z.string(), delivery: queued }),
  errors: ["webhook_not_found", "delivery_not_found", "delivery_not_failed", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const wanted = { webhookId: params.id, id: params.deliveryId };
    const reply = await services.deliveries.retryDelivery(wanted, await rpc());
    return { message: "Delivery queued again", delivery: queuedOf(deliveryOf(reply.delivery)) };
  },
});

const deadLetters = route({
  method: "GET",
  path: "/webhooks/dead-letters",
  access: read,
  tag,
  summary: "Deliveries whose retries were exhausted, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    webhookId: id.optional().meta({ description: "Only records of this webhook." }),
  }),
  reply: z.object({ data: z.array(deadLetter), pagination }),
  errors: ["organization_not_found", "webhook_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", webhookId: query.webhookId ?? "" };
    const reply = await services.deliveries.listDeadLetters(wanted, await rpc());
    return { data: reply.deadLetters.map(deadLetterOf), pagination: paginationOf(reply.page) };
  },
});

const requeue = route({
  method: "POST",
  path: "/webhooks/dead-letters/:id/requeue",
  audit: "webhook.requeue",
  auditResource: "webhook_dead_letter",
  access: write,
  tag,
  summary: "Queue a dead letter's delivery again, once",
  params: idParams,
  status: 202,
  idempotent: true,
  reply: z.object({ message: z.string(), delivery: queued }),
  errors: ["dead_letter_not_found", "delivery_not_found", "delivery_not_failed", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.deliveries.requeueDeadLetter({ id: params.id }, await rpc());
    return { message: "Delivery queued again", delivery: queuedOf(deliveryOf(reply.delivery)) };
  },
});

/** The JSON of a delivery, with further members. */
function deliveryText(message: Delivery | undefined, more: object = {}): string {
  return withOpaque({ ...deliveryOf(message), ...more }, "payload", message?.payloadJson ?? "");
}

type Shown = Omit<z.input<typeof delivery>, "payload">;

function deliveryOf(message: Delivery | undefined): Shown {
  if (!message) throw new Error("the dispatcher answered without a delivery");
  return {
    id: message.id,
    webhookId: message.webhookId,
    orgId: message.orgId,
    status: status.parse(message.status),
    event: message.event,
    eventId: message.eventId,
    source: message.source === "" ? null : source.parse(message.source),
    postedBy: message.postedById === "" ? null : postedBy.parse({ type: message.postedByType, id: message.postedById }),
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

function queuedOf({ id: own, status: state, attempt: made }: Shown) {
  return { id: own, status: state, attempt: made };
}

function attemptOf(message: Attempt): z.input<typeof attempt> {
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

function deadLetterOf(message: DeadLetter): z.input<typeof deadLetter> {
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

export const webhookDeliveryRoutes: readonly Route[] = [list, get, stats, test, retry, deadLetters, requeue];
