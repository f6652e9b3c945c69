import { z } from "zod";
import type { CodedError } from "../../http/input-errors.ts";
import { healthFields } from "../fields/health.ts";
import { requestHeadersIn } from "../fields/request-headers.ts";
import { id, idOut, nameIn, objectOut, timeOut } from "../fields/schemas.ts";
import { secretIn, secretStrength } from "../fields/signing-secret.ts";
import { subscribedEvents } from "./event-names.ts";

export const webhookStatus = z.enum(["active", "paused", "failed"]);

const headerOut = z.object({ key: z.string(), value: z.string().meta({ description: 'Hidden: always `"***"`.' }) });
export const retryPolicy = z.object({
  maxRetries: z.int().optional(),
  initialDelayMs: z.int().optional(),
  backoffMultiplier: z.number().optional(),
  maxDelayMs: z.int().optional(),
});

const scheduleText = "standard, extended, or {delaysSeconds: 1 to 16 numbers of 1 to 86,400, jitterPercent: 0 to 20}";
export const retrySchedule = z.union(
  [
    z.enum(["standard", "extended"]),
    z.object({
      delaysSeconds: z.array(z.int().min(1).max(86_400)).min(1).max(16),
      jitterPercent: z
        .int()
        .min(0)
        .max(20)
        .optional()
        .meta({ description: "Most percent that a delay grows by at random.", default: 0 }),
    }),
  ],
  { error: scheduleText },
);
const retryScheduleIn = retrySchedule.optional().meta({
  description:
    "`standard`: 5 retries in 31 s. `extended`, recommended: 9 retries in some three days. Or seconds from each failed attempt to the next. " +
    "The delays add up to less than WEBHOOK_RETENTION_DAYS and, for an ordered webhook, less than 10 minutes.",
  default: "standard",
});

const labelsText = "Labels as `name` or `name=value`, of which `data.labels` has one: an object or a list of texts.";
const dimension = <T extends z.ZodType>(one: T, description: string) =>
  z.array(one).max(100).optional().meta({ description });
const filterFields = {
  siteIds: dimension(id, "Sites of the organization, of which `data.siteId` is one."),
  groupIds: dimension(id, "Groups, of which `data.groupIds` has one."),
  labels: dimension(z.string().trim().min(1).max(200), labelsText),
};
const filterIn = z
  .object(filterFields)
  .superRefine((filter, { addIssue }) => {
    if (Object.values(filter).some((values) => values && values.length > 0)) return;
    addIssue({ code: "custom", message: "At least one value; null for no filter" });
  })
  .nullish()
  .meta({
    description:
      "Which events of its types it gets: of each dimension named, one value. Others do not pass; null removes it.",
  });

const notifiedIn = z.array(id).max(20).nullish().meta({
  description: "Users who get mails about its health, at most one an hour; null: who made it.",
});

export const webhook = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    url: z.string().meta({ description: "Userinfo and tokens in the query are omitted." }),
    hasSecret: z.boolean(),
    secretStrength,
    warnings: z.array(z.string()).meta({
      description: "Sentences on what makes its deliveries less safe: no signature, a weak secret, plain http.",
    }),
    events: z.array(z.string()),
    headers: z.array(headerOut),
    status: webhookStatus,
    ordered: z.boolean().meta({
      description: "One request at a time in the order of the events; a failing delivery holds back the later ones.",
    }),
    retryPolicy: retryPolicy
      .nullable()
      .meta({ description: "Set by the operator alone; null leaves it to `retrySchedule`." }),
    retrySchedule: retrySchedule.meta({
      description: "Without an operator's `retryPolicy`, when deliveries are retried.",
    }),
    asymmetricSignature: z.boolean().meta({
      description:
        "`webhook-signature` also has a signature of ed25519 (`v1a`), for `/.well-known/webhooks/{id}/jwks.json`.",
    }),
    filter: z
      .object({ siteIds: z.array(idOut), groupIds: z.array(idOut), labels: z.array(z.string()) })
      .nullable()
      .meta({ description: "Which events of its types it gets; null: all." }),
    notifyUserIds: z
      .array(idOut)
      .nullable()
      .meta({ description: "Users who get mails about its health; null: who made it." }),
    successCount: z.int().meta({ description: "Number of successful deliveries." }),
    failureCount: z.int().meta({ description: "Number of deliveries with exhausted retries." }),
    lastDeliveryAt: timeOut.nullable(),
    lastSuccessAt: timeOut.nullable(),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Webhook" });

export const listedWebhook = webhook.extend({ health: z.object(healthFields) }).meta({ id: "ListedWebhook" });

export const deliveryStats = z.object({
  total: z.int(),
  pending: z.int(),
  delivered: z.int(),
  failed: z.int(),
  retrying: z.int(),
  lastDeliveredAt: timeOut.nullable(),
});

export const health = z
  .object({
    ...healthFields,
    breaker: z.enum(["closed", "open", "recovering"]).meta({
      description: "`open`: nothing is sent until `openUntil`. `recovering`: fewer concurrent requests than usual.",
    }),
    openUntil: timeOut.nullable(),
    consecutiveFailures: z.int().meta({ description: "Number of failed attempts since the last success." }),
    consecutiveFailedDeliveries: z
      .int()
      .meta({ description: "Number of deliveries with exhausted retries since the last success." }),
    failingSince: timeOut.nullable().meta({ description: "Time of the first failed attempt since then." }),
    lastSuccessAt: timeOut.nullable(),
    lastFailureAt: timeOut.nullable(),
    oldestDueSeconds: z.number().meta({ description: "How long the oldest delivery has been due; 0 when none is." }),
    nextAttemptAt: timeOut.nullable(),
    inFlight: z.int(),
    failedReason: z
      .enum(["gone", "exhausted"])
      .nullable()
      .meta({ description: "Why it was marked `failed`: it answered 410, or no delivery succeeded for days." }),
  })
  .meta({ id: "WebhookHealth" });

export const typeSource = z.enum(["platform", "posted", "custom"]);

export const eventType = z
  .object({
    type: z.string(),
    group: z.string(),
    description: z.string().meta({ description: "The event's meaning in one sentence." }),
    source: typeSource.meta({
      description:
        "`posted`: only `POST /events` emits it, and its `data` is that of the request. `custom`: so does an own type of the organization.",
    }),
    schema: objectOut.nullable().meta({ description: "JSON Schema (2020-12) that `data` meets; null: any object." }),
    version: z.string().nullable(),
    archived: z.boolean().meta({ description: "Events of it are refused." }),
    example: z
      .object({ id: idOut, type: z.string(), timestamp: timeOut, orgId: idOut, data: objectOut })
      .meta({ description: "Body of a request as the webhook receives it." }),
  })
  .meta({ id: "EventType" });

/** An own type as its author sees it. */
export const ownEventType = eventType
  .extend({ id: idOut, orgId: idOut, createdBy: idOut, createdAt: timeOut, updatedAt: timeOut })
  .meta({ id: "OwnEventType" });

// The dispatcher checks the resolved address of a host name; errors of the URL's text are reported with the body's
// other errors.
const urlError = (text: string): string | null => {
  if (!URL.canParse(text)) return "not_a_url";
  return /^https?:$/.test(new URL(text).protocol) ? null : "not_https";
};
export const url = z
  .string()
  .min(1)
  .max(4_096)
  .superRefine((text, { addIssue }) => {
    const reason = urlError(text);
    if (reason === null) return;
    const params: CodedError = { code: "invalid_webhook_url", text: "Invalid webhook URL", facts: { reason } };
    addIssue({ code: "custom", message: `Invalid webhook URL: ${reason}`, params });
  })
  .meta({
    description: "HTTPS, to a host that is public by name and by address.",
    example: "https://example.com/hook",
  });
const headers = requestHeadersIn.meta({
  description: 'Sent with each delivery. The value `"***"` keeps the stored one.',
});

export const newWebhook = z.object({
  orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
  name: nameIn,
  url,
  secret: secretIn.nullish(),
  events: subscribedEvents,
  headers: headers.nullish(),
  ordered: z.boolean().optional(),
  retrySchedule: retryScheduleIn,
  asymmetricSignature: z.boolean().optional(),
  filter: filterIn,
  notifyUserIds: notifiedIn,
});

export const patch = z.object({
  name: nameIn.optional(),
  url: url.optional(),
  secret: secretIn.nullish().meta({ description: "Null removes it: requests are no longer signed." }),
  events: subscribedEvents.optional(),
  headers: headers.nullish(),
  status: webhookStatus.optional(),
  ordered: z.boolean().optional(),
  retrySchedule: retryScheduleIn,
  asymmetricSignature: z.boolean().optional(),
  filter: filterIn,
  notifyUserIds: notifiedIn,
});
export const webhookPaths = {
  name: "name",
  url: "url",
  secret: "secret",
  events: "events",
  headers: "headers",
  status: "status",
  ordered: "ordered",
  retrySchedule: "retrySchedule",
  asymmetricSignature: "asymmetricSignature",
  filter: "filter",
  notifyUserIds: "notifyUserIds",
};
