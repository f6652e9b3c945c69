import { eventTypes, isEventType } from "@muster/kit";
import type { EndpointHealth, RetryPolicy, Webhook } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { z } from "zod";
import type { CodedFault } from "../http/validate.ts";
import { type Route, route } from "../route.ts";
import { maskOf } from "./field-mask.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "./schemas.ts";

const tag = "Webhooks";

const status = z.enum(["active", "paused", "failed"]);

const headerOut = z.object({ key: z.string(), value: z.string().meta({ description: 'Always `"***"`.' }) });
const retryPolicy = z.object({
  maxRetries: z.int().optional(),
  initialDelayMs: z.int().optional(),
  backoffMultiplier: z.number().optional(),
  maxDelayMs: z.int().optional(),
});

const webhook = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    url: z.string().meta({ description: "Without userinfo and without tokens of its query." }),
    hasSecret: z.boolean(),
    events: z.array(z.string()),
    headers: z.array(headerOut),
    status,
    ordered: z.boolean().meta({
      description: "One request at a time in the order of the events; one that fails holds those behind it.",
    }),
    retryPolicy: retryPolicy.nullable().meta({ description: "Null: 5 retries after 1, 2, 4, 8 and 16 s." }),
    successCount: z.int().meta({ description: "Deliveries that ended well." }),
    failureCount: z.int().meta({ description: "Deliveries whose retries were exhausted." }),
    lastDeliveryAt: timeOut.nullable(),
    lastSuccessAt: timeOut.nullable(),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Webhook" });

const deliveryStats = z.object({
  total: z.int(),
  pending: z.int(),
  delivered: z.int(),
  failed: z.int(),
  retrying: z.int(),
  lastDeliveredAt: timeOut.nullable(),
});

const health = z
  .object({
    breaker: z.enum(["closed", "open", "recovering"]).meta({
      description: "`open`: nothing is sent until `openUntil`. `recovering`: fewer requests at a time than usual.",
    }),
    openUntil: timeOut.nullable(),
    consecutiveFailures: z.int().meta({ description: "Attempts that failed since the last success." }),
    consecutiveFailedDeliveries: z
      .int()
      .meta({ description: "Deliveries whose retries were exhausted since the last success." }),
    failingSince: timeOut.nullable().meta({ description: "The first of those deliveries." }),
    lastSuccessAt: timeOut.nullable(),
    lastFailureAt: timeOut.nullable(),
    oldestDueSeconds: z.number().meta({ description: "How long the oldest delivery has been due; 0 when none is." }),
    nextAttemptAt: timeOut.nullable(),
    inFlight: z.int(),
    failedReason: z
      .enum(["gone", "exhausted"])
      .nullable()
      .meta({ description: "Why it was marked `failed`: it answered 410, or no delivery ended well for days." }),
  })
  .meta({ id: "WebhookHealth" });

// Where a name leads is for the dispatcher to judge; what the text tells stands beside the other faults of the body.
const urlFault = (text: string): string | null => {
  if (!URL.canParse(text)) return "not_a_url";
  return /^https?:$/.test(new URL(text).protocol) ? null : "not_https";
};
const url = z
  .string()
  .min(1)
  .max(4_096)
  .superRefine((text, { addIssue }) => {
    const reason = urlFault(text);
    if (reason === null) return;
    const params: CodedFault = { code: "invalid_webhook_url", text: "Invalid webhook URL", facts: { reason } };
    addIssue({ code: "custom", message: `Invalid webhook URL: ${reason}`, params });
  })
  .meta({
    description: "HTTPS, to a host that is public by name and by address.",
    example: "https://example.com/hook",
  });
/** What may stand in a header's value (RFC 9110, section 5.5). */
const headerText = /^[\t\x20-\x7e]*$/;
const secret = z
  .string()
  .max(512)
  .regex(headerText, "At most 512 ASCII characters")
  .meta({ description: "Signs each request; visible ASCII." });
const events = z
  .array(z.string().max(100))
  .min(1)
  .max(100)
  .superRefine((types, { addIssue }) => {
    if (types.includes("*") && types.some((type) => type !== "*")) {
      addIssue({ code: "custom", message: '"*" stands alone' });
    }
    const unknown = [...new Set(types)].filter((type) => type !== "*" && !isEventType(type)).slice(0, 20);
    if (unknown.length === 0) return;
    const params: CodedFault = { code: "unknown_event_type", text: "Unknown event type", facts: { types: unknown } };
    addIssue({ code: "custom", message: `Unknown: ${unknown.join(", ")}`, params });
  })
  .meta({ description: 'Known event types, or `["*"]`.' });
const headers = z
  .array(
    z.object({
      key: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, "Not a header name"),
      value: z.string().max(2_000).regex(headerText, "At most 2,000 ASCII characters"),
    }),
  )
  .max(20)
  .meta({ description: 'Sent with each delivery. The value `"***"` keeps the stored one.' });

const newWebhook = z.object({
  orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
  name: nameIn,
  url,
  secret: secret.nullish(),
  events,
  headers: headers.optional(),
  ordered: z.boolean().optional(),
});

const patch = z.object({
  name: nameIn.optional(),
  url: url.optional(),
  secret: secret.nullish().meta({ description: "Null removes it: requests are not signed any more." }),
  events: events.optional(),
  headers: headers.optional(),
  status: status.optional(),
  ordered: z.boolean().optional(),
});
const paths = {
  name: "name",
  url: "url",
  secret: "secret",
  events: "events",
  headers: "headers",
  status: "status",
  ordered: "ordered",
};

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;

const list = route({
  method: "GET",
  path: "/webhooks",
  access: read,
  tag,
  summary: "Webhooks of one organization, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
    status: status.optional(),
  }),
  reply: z.object({ data: z.array(webhook), pagination }),
  errors: ["organization_context_required", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", status: query.status ?? "" };
    const reply = await services.webhooks.listWebhooks(wanted, await rpc());
    return { data: reply.webhooks.map(webhookOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/webhooks",
  audit: "webhook.create",
  access: write,
  tag,
  summary: "Create a webhook",
  description:
    "The URL is judged now and before each delivery: HTTPS only, no local names, every address of the host public.",
  body: newWebhook,
  example: { orgId: exampleId, name: "Tickets", url: "https://example.com/hook", events: ["*"] },
  status: 201,
  idempotent: true,
  reply: webhook,
  errors: [
    "organization_context_required",
    "organization_not_found",
    "invalid_webhook_url",
    "unknown_event_type",
    "limit_reached",
    "site_restricted",
  ],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      orgId: body.orgId ?? "",
      name: body.name,
      url: body.url,
      secret: body.secret ?? "",
      events: body.events,
      headers: body.headers ?? [],
      ordered: body.ordered ?? false,
    };
    const reply = await services.webhooks.createWebhook(wanted, await rpc());
    return webhookOf(reply.webhook);
  },
});

const types = route({
  method: "GET",
  path: "/webhooks/event-types",
  access: read,
  tag,
  summary: "Event types that a webhook can subscribe to",
  reply: z.object({ data: z.array(z.object({ type: z.string(), group: z.string() })) }),
  handle: () => ({ data: eventTypes.map((type) => ({ type, group: type.slice(0, type.indexOf(".")) })) }),
});

const get = route({
  method: "GET",
  path: "/webhooks/:id",
  access: read,
  tag,
  summary: "One webhook with its statistics and its endpoint's health",
  params: idParams,
  reply: webhook.extend({ deliveryStats, health }),
  errors: ["webhook_not_found"],
  async handle({ params, rpc }, { services }) {
    const {
      webhook: found,
      stats,
      health: endpoint,
    } = await services.webhooks.getWebhook({ id: params.id }, await rpc());
    const counts = {
      total: Number(stats?.total ?? 0),
      pending: Number(stats?.pending ?? 0),
      delivered: Number(stats?.delivered ?? 0),
      failed: Number(stats?.failed ?? 0),
      retrying: Number(stats?.retrying ?? 0),
      lastDeliveredAt: timeOrNull(stats?.lastDeliveredAt),
    };
    return { ...webhookOf(found), deliveryStats: counts, health: healthOf(endpoint) };
  },
});

const update = route({
  method: "PATCH",
  path: "/webhooks/:id",
  audit: "webhook.update",
  access: write,
  tag,
  summary: "Change a webhook",
  description:
    "Counts from the next attempt on, of queued deliveries too. A paused webhook keeps what is queued; `active` lets it go on. " +
    "With a URL of another scheme, host or port the secret and all header values must come anew, else 400 names them.",
  params: idParams,
  body: patch,
  example: { name: "Tickets" },
  reply: webhook,
  errors: ["no_updates", "webhook_not_found", "invalid_webhook_url", "unknown_event_type", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const change = {
      name: body.name ?? "",
      url: body.url ?? "",
      secret: body.secret ?? "",
      events: body.events ?? [],
      headers: body.headers ?? [],
      status: body.status ?? "",
      ordered: body.ordered ?? false,
    };
    const wanted = { id: params.id, updateMask: maskOf(body, paths), change };
    const reply = await services.webhooks.updateWebhook(wanted, await rpc());
    return webhookOf(reply.webhook);
  },
});

const remove = route({
  method: "DELETE",
  path: "/webhooks/:id",
  audit: "webhook.delete",
  access: write,
  tag,
  summary: "Delete a webhook and all its deliveries",
  description: "Nothing more is sent or shown when it answers; its deliveries are removed in the background.",
  params: idParams,
  reply: success,
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.webhooks.deleteWebhook({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

const rotate = route({
  method: "POST",
  path: "/webhooks/:id/rotate-secret",
  audit: "webhook.rotate_secret",
  access: write,
  tag,
  summary: "Give a webhook a new signing secret",
  description:
    "The secret before signs beside the new one until `previousSecretUntil`: in `webhook-signature`, and as `X-Service-Signature-Previous`. A second rotation ends the first one's overlap.",
  params: idParams,
  body: z.object({
    secret: secret.min(1).optional().meta({ description: "Without it one is made." }),
    graceSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .optional()
      .meta({ description: "Seconds for which the secret before signs, too; default a day, 0 ends it at once." }),
  }),
  idempotent: true,
  noStore: true,
  reply: z.object({ webhook, secret: z.string(), previousSecretUntil: timeOut.nullable() }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const reply = await services.webhooks.rotateWebhookSecret(
      { id: params.id, secret: body.secret ?? "", graceSeconds: body.graceSeconds },
      await rpc(),
    );
    const previousSecretUntil = timeOrNull(reply.previousSecretUntil);
    return { webhook: webhookOf(reply.webhook), secret: reply.secret, previousSecretUntil };
  },
});

function webhookOf(message: Webhook | undefined): z.input<typeof webhook> {
  if (!message) throw new Error("the dispatcher answered without a webhook");
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    url: message.url,
    hasSecret: message.hasSecret,
    events: message.events,
    headers: message.headers.map(({ key, value }) => ({ key, value })),
    status: status.parse(message.status),
    ordered: message.ordered,
    retryPolicy: policyOf(message.retryPolicy),
    successCount: Number(message.successCount),
    failureCount: Number(message.failureCount),
    lastDeliveryAt: timeOrNull(message.lastDeliveryAt),
    lastSuccessAt: timeOrNull(message.lastSuccessAt),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

function healthOf(message: EndpointHealth | undefined): z.input<typeof health> {
  if (!message) throw new Error("the dispatcher answered without the endpoint's health");
  return {
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

export const webhookRoutes: readonly Route[] = [list, create, types, get, update, remove, rotate];
