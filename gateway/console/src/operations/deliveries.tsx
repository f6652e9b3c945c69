import type { ItemOf } from "@muster/client";
import { RotateCw } from "lucide-react";
import { api } from "../api/api.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import type { Operation } from "./record-operation.ts";

type DeadLetter = ItemOf<"/api/v1/webhooks/dead-letters">;
/** A delivery with the webhook that it belongs to. */
export type Delivery = BodyOf<"/api/v1/webhooks/{id}/deliveries/{deliveryId}"> & { webhookId: string };

const forgets = ["/api/v1/webhooks"] as const;

/** What can be done with a delivery. */
export const deliveryOperations: readonly Operation<Delivery>[] = [
  {
    id: "delivery.retry",
    verb: "Deliver again",
    needs: "POST /api/v1/webhooks/{id}/retry/{deliveryId}",
    icon: RotateCw,
    shown: "button",
    isOffered: ({ status }) => status === "failed",
    run: async ({ id: deliveryId, webhookId: id }) => {
      const params = { path: { id, deliveryId } };
      await dataOf(api.POST("/api/v1/webhooks/{id}/retry/{deliveryId}", { params }));
      return undefined;
    },
    done: () => "Queued again.",
    forgets,
  },
];

/** Queues a delivery again whose retries were exhausted. */
export const requeue: Operation<DeadLetter> = {
  id: "dead-letter.requeue",
  verb: "Deliver again",
  needs: "POST /api/v1/webhooks/dead-letters/{id}/requeue",
  icon: RotateCw,
  shown: "button",
  isOffered: ({ requeuedAt }) => requeuedAt === null,
  run: async ({ id }) => {
    await dataOf(api.POST("/api/v1/webhooks/dead-letters/{id}/requeue", { params: { path: { id } } }));
    return undefined;
  },
  done: () => "Queued again.",
  forgets,
};

/** What can be done with a dead letter. */
export const deadLetterOperations: readonly Operation<DeadLetter>[] = [requeue];
