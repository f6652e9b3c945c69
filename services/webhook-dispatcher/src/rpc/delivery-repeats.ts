import { randomUUID } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, type TenantReader } from "@muster/service";
import {
  type DeliveryRow,
  insertDelivery,
  lockDelivery,
  takeDeadLetter,
  webhookOfDeadLetter,
} from "../store/deliveries.ts";
import { lockWebhook, type WebhookRow } from "../store/webhooks.ts";
import { deliveryMessage } from "./delivery-message.ts";
import { deliveryNotFound, lockedWebhook, requireWriter } from "./guards.ts";
import { record } from "./record.ts";

export type RepeatDeps = TenantReader & {
  now: () => Date;
  /** Called after something was queued. */
  wake: () => void;
};

type Handlers = ServiceImpl<typeof DeliveryService>;
type Repeats = Pick<Handlers, "retryDelivery" | "resendDelivery" | "requeueDeadLetter">;

/** Single deliveries that are sent again, each under a new id, with the event and `webhook-id` of the earlier one. */
export function deliveryRepeats(deps: RepeatDeps): Repeats {
  const { db, now } = deps;
  return {
    async retryDelivery(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const lock = (tx: Tx) => lockedWebhook(tx, context, request.webhookId);
      const run = async (tx: Tx, webhook: WebhookRow) => {
        const row = await repeat(tx, context, failed(await stored(tx, context, webhook.id, request.id)), "retry", at);
        record(tx, context, webhook, "webhook.retry", { deliveryId: row.id, retryOf: request.id }, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.retryDelivery, request, lock, run);
      deps.wake();
      return reply;
    },

    async resendDelivery(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const lock = (tx: Tx) => lockedWebhook(tx, context, request.webhookId);
      const run = async (tx: Tx, webhook: WebhookRow) => {
        const row = await repeat(tx, context, ended(await stored(tx, context, webhook.id, request.id)), "resend", at);
        const details = { deliveryId: row.id, resendOf: request.id, eventId: row.event_id };
        record(tx, context, webhook, "webhook.resend", details, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.resendDelivery, request, lock, run);
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
        const delivery = failed(await stored(tx, context, webhook.id, letter.delivery_id));
        const row = await repeat(tx, context, delivery, "retry", at);
        const of = { webhookId: webhook.id, webhookName: webhook.name };
        const details = { ...of, deliveryId: row.id, retryOf: letter.delivery_id };
        record(tx, context, { ...webhook, id: letter.id }, "webhook.requeue", details, at);
        return { delivery: deliveryMessage(row) };
      };
      const reply = await idempotentTx(db, context, DeliveryService.method.requeueDeadLetter, request, lock, run);
      deps.wake();
      return reply;
    },
  };
}

type Stored = DeliveryRow & { body: string };

/** A delivery of a locked webhook whose payload is kept, locked. Throws `delivery_not_found`. */
async function stored(tx: Tx, context: CallContext, webhookId: string, id: string): Promise<Stored> {
  const row = isUuid(id) ? await lockDelivery(tx, context, webhookId, id) : null;
  if (!row || row.body === null) throw deliveryNotFound();
  return { ...row, body: row.body };
}

function failed(delivery: Stored): Stored {
  if (delivery.status === "failed") return delivery;
  throw new AppError("delivery_not_failed", "Only failed deliveries can be retried");
}

/** A delivery that is still being sent would only arrive twice. */
function ended(delivery: Stored): Stored {
  if (delivery.status === "failed" || delivery.status === "delivered") return delivery;
  throw new AppError("delivery_not_ended", "Only delivered and failed deliveries can be sent again");
}

/** Queues a delivery again, in the caller's transaction. */
function repeat(
  tx: Tx,
  { meta }: CallContext,
  { id: retryOf, body, poster, ...delivery }: Stored,
  origin: "retry" | "resend",
  at: Date,
): Promise<DeliveryRow> {
  const again = {
    id: randomUUID(),
    webhookId: delivery.webhook_id,
    orgId: delivery.org_id,
    partnerId: delivery.partner_id,
    eventId: delivery.event_id,
    event: delivery.event,
    traceparent: meta.traceparent,
  };
  return insertDelivery(tx, { ...again, body, poster, origin, retryOf }, at);
}
