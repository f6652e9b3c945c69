import { randomUUID } from "node:crypto";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, clampPage, isEventType, isUuid, testEventType, uuidv7, validationError } from "@muster/kit";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx } from "@muster/service";
import { answerOf, bucketsOf, hoursMax } from "../rules/delivery-filter.ts";
import { envelopeBody, isObjectText } from "../rules/envelope.ts";
import { posterOf } from "../rules/poster.ts";
import {
  type DeliveryStatus,
  findDelivery,
  insertDelivery,
  listAttempts,
  listDeadLetters,
  listDeliveries,
} from "../store/deliveries.ts";
import { countDeliveries } from "../store/delivery-counts.ts";
import { deliveriesOfEvent, eventKeys } from "../store/events.ts";
import { findWebhook, noteTest, type WebhookRow } from "../store/webhooks.ts";
import { attemptMessage, deadLetterMessage, deliveryMessage } from "./delivery-message.ts";
import { deliveryRepeats, type RepeatDeps } from "./delivery-repeats.ts";
import {
  deliveryNotFound,
  listedOrganization,
  lockedWebhook,
  requireDeliveryReader,
  requireWriter,
  webhookNotFound,
} from "./guards.ts";
import { record } from "./record.ts";

export type DeliveryDeps = RepeatDeps & {
  /** Most tests of one webhook per minute. */
  testsPerMinute: number;
};

type Handlers = ServiceImpl<typeof DeliveryService>;

const deliveryStatuses: readonly DeliveryStatus[] = ["pending", "delivered", "failed", "retrying"];

/** Reads a filter by status; null when empty. Throws `validation_failed` on others. */
export function statusFilter(text: string): DeliveryStatus | null {
  const status = deliveryStatuses.find((each) => each === text) ?? null;
  if (text !== "" && status === null) throw validationError({ status: [`One of ${deliveryStatuses.join(", ")}`] });
  return status;
}

/** The deliveries of an event to one webhook; those of a test have no key of the event. */
async function ofEvent(db: Database, { id, org_id: orgId }: Pick<WebhookRow, "id" | "org_id">, eventId: string) {
  const [key] = await eventKeys(db, [orgId], eventId);
  return deliveriesOfEvent(key ?? { id: eventId, orgId, occurredAt: null }, [id]);
}

/** Deliveries of webhooks, tests, retries by hand and dead letters (docs/behaviour.md#webhook-deliveries). */
export function deliveryService(deps: DeliveryDeps): Handlers {
  return { ...reads(deps), ...tests(deps), ...deliveryRepeats(deps) };
}

function reads(
  deps: DeliveryDeps,
): Pick<Handlers, "listDeliveries" | "countDeliveries" | "getDelivery" | "listDeadLetters"> {
  const { db, now } = deps;
  return {
    async listDeliveries(request, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      const status = statusFilter(request.status);
      const { eventId } = request;
      if (eventId !== "" && !isUuid(eventId)) throw validationError({ eventId: ["Must be a UUID"] });
      const webhook = isUuid(request.webhookId) ? await findWebhook(db, context, request.webhookId) : null;
      if (!webhook) throw webhookNotFound();
      const filter = {
        webhookId: webhook.id,
        ofEvent: eventId === "" ? null : await ofEvent(db, webhook, eventId),
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
      const lock = (tx: Tx) => lockedWebhook(tx, context, request.webhookId);
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
