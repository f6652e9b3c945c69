import { eventTypes, testEventType } from "@muster/kit";
import { z } from "zod";
import { idOut, objectOut, timeOut } from "../fields/schemas.ts";
import { eventNameFilter } from "./event-names.ts";

export const deliveryStatus = z.enum(["pending", "delivered", "failed", "retrying"]);
export const sentTypes = [...eventTypes, testEventType];
export const sentType = eventNameFilter(sentTypes);
export const source = z.enum(["platform", "api"]);
export const postedBy = z.object({ type: z.enum(["user", "api_key"]), id: z.string() });

export const origin = z.enum(["event", "test", "retry", "resend", "replay"]);

export const delivery = z
  .object({
    id: idOut.meta({ description: "`X-Service-Delivery-Id`, the same for every retry." }),
    webhookId: idOut,
    orgId: idOut,
    status: deliveryStatus,
    event: z.string(),
    eventId: idOut,
    source: source.nullable().meta({
      description: "Whether Muster emitted the event or a caller posted it; null when an earlier version stored it.",
    }),
    postedBy: postedBy.nullable().meta({ description: "The caller who posted the event, or requested the test." }),
    origin: origin.meta({ description: "Why it was queued; all but `event` and `test` repeat an earlier delivery." }),
    repeats: idOut.nullable().meta({ description: "The delivery that it repeats." }),
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

export const deliveryAttempt = z
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
    requestHeaders: objectOut.meta({ description: 'As they were sent; values of custom headers are `"***"`.' }),
    responseStatus: z.int().nullable(),
    responseBody: z.string().nullable(),
    errorCode: z.string().nullable(),
    errorMessage: z.string().nullable(),
  })
  .meta({ id: "WebhookAttempt" });

export const deadLetter = z
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

export const queued = z.object({ id: idOut, status: deliveryStatus, attempt: z.int() });

export const bucket = z.object({
  at: timeOut.meta({ description: "Start of the bucket." }),
  delivered: z.int(),
  failed: z.int(),
  open: z.int().meta({ description: "Number of pending and retrying deliveries." }),
});
