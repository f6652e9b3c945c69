import { z } from "zod";
import { Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { renderedPage } from "../fields/opaque.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  objectIn,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";
import {
  bucket,
  deadLetter,
  delivery,
  deliveryAttempt,
  deliveryStatus,
  queued,
  sentType,
  sentTypes,
} from "./delivery-fields.ts";
import { deadLetterOf, deliveryAttemptOf, deliveryOf, deliveryText, queuedOf } from "./delivery-replies.ts";
import { eventNameIn } from "./event-names.ts";

const tag = "Webhooks";

const deliveryParams = z.object({ id, deliveryId: id });

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;
const seen = { ...read, portal: "view" } as const;

const list = route({
  method: "GET",
  path: "/webhooks/:id/deliveries",
  access: seen,
  tag,
  summary: "Deliveries of a webhook, newest first",
  params: idParams,
  query: listQuery.extend({
    status: deliveryStatus.optional().meta({ description: only.equal }),
    event: sentType.optional().meta({ description: only.equal, example: "device.offline" }),
    eventId: id.optional().meta({ description: "Only deliveries of this event." }),
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
      eventId: query.eventId ?? "",
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
  access: seen,
  tag,
  summary: "One delivery with its attempts",
  params: deliveryParams,
  reply: delivery.extend({ attempts: z.array(deliveryAttempt) }),
  errors: ["webhook_not_found", "delivery_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const wanted = { webhookId: params.id, id: params.deliveryId };
    const reply = await services.deliveries.getDelivery(wanted, await rpc());
    return new Rendered(deliveryText(reply.delivery, { attempts: reply.attempts.map(deliveryAttemptOf) }));
  },
});

const stats = route({
  method: "GET",
  path: "/webhooks/:id/stats",
  access: seen,
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
  access: { ...write, portal: "resend_deliveries" },
  tag,
  summary: "Send a test event to this webhook alone",
  params: idParams,
  body: z.object({
    event: eventNameIn(sentTypes)
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
  access: { ...write, portal: "resend_deliveries" },
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

const resend = route({
  method: "POST",
  path: "/webhooks/:id/deliveries/:deliveryId/resend",
  audit: "webhook.resend",
  access: { ...write, portal: "resend_deliveries" },
  tag,
  summary: "Send a delivery again, also a delivered one",
  description: "Creates a new record with the same event and `webhook-id`; the earlier one stays.",
  params: deliveryParams,
  status: 202,
  idempotent: true,
  reply: z.object({ message: z.string(), delivery: queued }),
  errors: ["webhook_not_found", "delivery_not_found", "delivery_not_ended", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const wanted = { webhookId: params.id, id: params.deliveryId };
    const reply = await services.deliveries.resendDelivery(wanted, await rpc());
    return { message: "Delivery queued again", delivery: queuedOf(deliveryOf(reply.delivery)) };
  },
});

const deadLetters = route({
  method: "GET",
  path: "/webhooks/dead-letters",
  access: seen,
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
  access: { ...write, portal: "resend_deliveries" },
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

export const webhookDeliveryRoutes: readonly Route[] = [list, get, stats, test, retry, resend, deadLetters, requeue];
