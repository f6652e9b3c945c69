import { randomUUID } from "node:crypto";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import {
  AppError,
  type CallContext,
  clampPage,
  isEventType,
  isUuid,
  testEventType,
  uuidv7,
  validationError,
} from "@muster/kit";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, type TenantReader } from "@muster/service";
import { answerOf, bucketsOf, hoursMax } from "../rules/delivery-filter.ts";
import { envelopeBody, isObjectText } from "../rules/envelope.ts";
import { posterOf } from "../rules/poster.ts";
import {
  type DeliveryRow,
  type DeliveryStatus,
  findDelivery,
  insertDelivery,
  listAttempts,
  listDeadLetters,
  listDeliveries,
  lockDelivery,
  takeDeadLetter,
  webhookOfDeadLetter,
} from "../store/deliveries.ts";
import { countDeliveries } from "../store/delivery-counts.ts";
import { findWebhook, lockWebhook, noteTest, type WebhookRow } from "../store/webhooks.ts";
import { attemptMessage, deadLetterMessage, deliveryMessage } from "./delivery-message.ts";
import {
  deliveryNotFound,
  listedOrganization,
  requireDeliveryReader,
  requireWriter,
  webhookNotFound,
} from "./guards.ts";
import { record } from "./webhook.ts";

export type DeliveryDeps = TenantReader & {
  now: () => Date;
  /** Called after something was queued. */
  wake: () => void;
  /** Most tests of one webhook per minute. */
  testsPerMinute: number;
};

type Handlers = ServiceImpl<typeof DeliveryService>;

const deliveryStatuses: readonly DeliveryStatus[] = ["pending", "delivered", "failed", "retrying"];

/** Deliveries of webhooks, tests, retries by hand and dead letters (docs/behaviour.md#webhook-deliveries). */
export function deliveryService(deps: DeliveryDeps): Handlers {
  return { ...reads(deps), ...tests(deps), ...repeats(deps) };
}

function reads(
  deps: DeliveryDeps,
): Pick<Handlers, "listDeliveries" | "countDeliveries" | "getDelivery" | "listDeadLetters"> {
  const { db, now } = deps;
  return {
    async listDeliveries(request, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      const status = deliveryStatuses.find((each) => each === request.status) ?? null;
      if (request.status !== "" && status === null) {
        throw validationError({ status: [`One of ${deliveryStatuses.join(", ")}`] });
      }
      const webhook = isUuid(request.webhookId) ? await findWebhook(db, context, request.webhookId) : null;
      if (!webhook) throw webhookNotFound();
      const filter = {
        webhookId: webhook.id,
        status,
        event: request.event || null,
        from: request.from ? timestampDate(request.from) : null,
        to: request.to ? timestampDate(request.to) : null,
        answer: answerOf(request.answer),
      };
      const { rows, info } = await listDeliveries(db, context, filter, clampPage(request.page ?? {}));
      return { deliveries: rows.map(deliveryMessage), page: info };
    },

    async countDeliveries({ webhookId, hours }, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      if (hours < 1 || hours > hoursMax) throw validationError({ hours: [`1 to ${hoursMax}`] });
      const webhook = isUuid(webhookId) ? await findWebhook(db, context, webhookId) : null;
      if (!webhook) throw webhookNotFound();
      const span = bucketsOf(now(), hours);
      const { counts, countedFrom } = await countDeliveries(db, context, webhook.id, span);
      return {
        bucketSeconds: span.bucketMs / 1_000,
        buckets: span.starts.map((at) => {
          const { delivered = 0, failed = 0, open = 0 } = counts.get(at.getTime()) ?? {};
          return {
            at: timestampFromDate(at),
            delivered: BigInt(delivered),
            failed: BigInt(failed),
            open: BigInt(open),
          };
        }),
        ...(countedFrom ? { countedFrom: timestampFromDate(countedFrom) } : {}),
      };
    },

    async getDelivery({ webhookId, id }, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      const webhook = isUuid(webhookId) ? await findWebhook(db, context, webhookId) : null;
      if (!webhook) throw webhookNotFound();
      const row = isUuid(id) ? await findDelivery(db, context, webhook.id, id) : null;
      if (!row) throw deliveryNotFound();
      const attempts = await listAttempts(db, context, row);
      return { delivery: deliveryMessage(row), attempts: attempts.map(attemptMessage) };
    },

    async listDeadLetters(request, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      const webhookId = request.webhookId || null;
      if (webhookId !== null && !isUuid(webhookId)) throw validationError({ webhookId: ["Must be a UUID"] });
      const orgId = request.orgId === "" ? null : await listedOrganization(deps, context, request.orgId);
      const webhook = webhookId === null ? null : await findWebhook(db, context, webhookId);
      if (webhookId !== null && (!webhook || (orgId !== null && webhook.org_id !== orgId))) throw webhookNotFound();
      const { rows, info } = await listDeadLetters(db, context, { orgId, webhookId }, clampPage(request.page ?? {}));
      return { deadLetters: rows.map(deadLetterMessage), page: info };
    },
  };
}

function tests(deps: DeliveryDeps): Pick<Handlers, "testWebhook"> {
  const { db, now } = deps;
  return {
    async testWebhook(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const type = request.event || testEventType;
      if (type !== testEventType && !isEventType(type)) {
        throw new AppError("unknown_event_type", "Unknown event type", { facts: { types: [type.slice(0, 100)] } });
      }
      const at = now();
      const payload = request.payloadJson;
      if (payload !== "" && !isObjectText(payload)) {
        throw validationError({ payload: ["A JSON object of at most 65,536 bytes"] });
      }
      const lock = (tx: Tx) => locked(tx, context, request.webhookId);
      const run = async (tx: Tx, webhook: WebhookRow) => {
        const retryAfterSeconds = await noteTest(tx, webhook.id, deps.testsPerMinute);
        if (retryAfterSeconds !== null) {
          const facts = { limit: deps.testsPerMinute };
          throw new AppError("rate_limited", "Too many tests of this webhook in a minute", {
            facts,
            retryAfterSeconds,
          });
        }
        const fallback = { message: "This is a test event", timestamp: at.toISOString(), webhookId: webhook.id };
        const eventId = uuidv7(at.getTime());
        const { org_id: orgId, partner_id: partnerId } = webhook;
        const dataJson = payload || JSON.stringify(fallback);
        const body = envelopeBody({ id: eventId, type, timestamp: at, orgId, dataJson });
        const poster = posterOf(context.caller.actor);
        const made = {
          id: randomUUID(),
          webhookId: webhook.id,
          orgId,
          partnerId,
          eventId,
          event: type,
          body,
          poster,
          traceparent: context.meta.traceparent,
        };
        const row = await insertDelivery(tx, { ...made, origin: "test", retryOf: null }, at);
        record(tx, context, webhook, "webhook.test", { deliveryId: row.id, event: type }, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.testWebhook, request, lock, run);
      deps.wake();
      return reply;
    },
  };
}

function repeats(deps: DeliveryDeps): Pick<Handlers, "retryDelivery" | "requeueDeadLetter"> {
  const { db, now } = deps;
  return {
    async retryDelivery(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const lock = (tx: Tx) => locked(tx, context, request.webhookId);
      const run = async (tx: Tx, webhook: WebhookRow) => {
        const failed = isUuid(request.id) ? await lockDelivery(tx, context, webhook.id, request.id) : null;
        const row = await repeat(tx, context, failed, at);
        record(tx, context, webhook, "webhook.retry", { deliveryId: row.id, retryOf: request.id }, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.retryDelivery, request, lock, run);
      deps.wake();
      return reply;
    },

    async requeueDeadLetter(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const notFound = () => new AppError("dead_letter_not_found", "Dead letter not found");
      const lock = async (tx: Tx): Promise<WebhookRow> => {
        const webhookId = isUuid(request.id) ? await webhookOfDeadLetter(tx, context, request.id) : null;
        const webhook = webhookId === null ? null : await lockWebhook(tx, context, webhookId);
        if (!webhook) throw notFound();
        return webhook;
      };
      const run = async (tx: Tx, webhook: WebhookRow) => {
        const letter = await takeDeadLetter(tx, context, request.id, at);
        if (!letter) throw notFound();
        const row = await repeat(tx, context, await lockDelivery(tx, context, webhook.id, letter.delivery_id), at);
        const details = { webhookId: webhook.id, deliveryId: row.id, retryOf: letter.delivery_id };
        record(tx, context, { ...webhook, id: letter.id }, "webhook.requeue", details, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.requeueDeadLetter, request, lock, run);
      deps.wake();
      return reply;
    },
  };
}

/** Queues a failed delivery again, in the caller's transaction. */
async function repeat(tx: Tx, context: CallContext, delivery: DeliveryRow | null, at: Date): Promise<DeliveryRow> {
  if (!delivery) throw deliveryNotFound();
  if (delivery.status !== "failed" || delivery.body === null) {
    throw new AppError("delivery_not_failed", "Only failed deliveries can be retried");
  }
  return insertDelivery(
    tx,
    {
      id: randomUUID(),
      webhookId: delivery.webhook_id,
      orgId: delivery.org_id,
      partnerId: delivery.partner_id,
      eventId: delivery.event_id,
      event: delivery.event,
      body: delivery.body,
      poster: delivery.poster,
      origin: "retry",
      retryOf: delivery.id,
      traceparent: context.meta.traceparent,
    },
    at,
  );
}

async function locked(tx: Tx, context: CallContext, id: string): Promise<WebhookRow> {
  const webhook = isUuid(id) ? await lockWebhook(tx, context, id) : null;
  if (!webhook) throw webhookNotFound();
  return webhook;
}
