import type { ItemOf } from "@muster/client";
import { Pause, Pencil, Play, RotateCcw, RotateCcwKey, Send, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { SecretOnce } from "../parts/secret-once.tsx";
import { ChangeWebhook } from "./change-webhook.tsx";
import { NewReplay } from "./new-replay.tsx";
import { type Operation, shown } from "./record-operation.ts";

type Webhook = ItemOf<"/api/v1/webhooks">;

const of = ({ id }: Webhook) => ({ path: { id } });
const forgets = ["/api/v1/webhooks"] as const;
const isActive = ({ status }: Webhook) => status === "active";

const become = (status: "active" | "paused") => async (webhook: Webhook) =>
  void (await dataOf(api.PATCH("/api/v1/webhooks/{id}", { params: of(webhook), body: { status } })));

/** Sends again what was sent before; it stands beside the replays. */
export const replay: Operation<Webhook> = {
  id: "webhook.replay",
  verb: "Replay",
  needs: "POST /api/v1/webhooks/{id}/replay",
  icon: RotateCcw,
  isOnPage: true,
  form: NewReplay,
  forgets,
};

const change: Operation<Webhook> = {
  id: "webhook.change",
  verb: "Change",
  needs: "PATCH /api/v1/webhooks/{id}",
  icon: Pencil,
  form: ChangeWebhook,
  forgets,
};

const rotateSecret: Operation<Webhook> = {
  id: "webhook.rotate",
  verb: "Rotate secret",
  needs: "POST /api/v1/webhooks/{id}/rotate-secret",
  icon: RotateCcwKey,
  asks: {
    title: () => "Rotate the secret?",
    says: () => "Deliveries are signed with both secrets for a while, so that your receiver can change over.",
  },
  run: async (webhook) => {
    const { secret } = await dataOf(api.POST("/api/v1/webhooks/{id}/rotate-secret", { params: of(webhook), body: {} }));
    return shown((close) => (
      <SecretOnce
        title="The new secret"
        secret={secret}
        note="Give it to your receiver; it is shown only once."
        onClose={close}
      />
    ));
  },
  forgets,
};

/** What ends a warning of a webhook: without a secret one is made, any other is about its address. */
export const endOfWarning = (warning: string): Operation<Webhook> =>
  warning.startsWith("Deliveries are not signed") ? rotateSecret : change;

/** What can be done with a webhook. */
export const webhookOperations: readonly Operation<Webhook>[] = [
  replay,
  {
    id: "webhook.test",
    verb: "Send a test",
    needs: "POST /api/v1/webhooks/{id}/test",
    icon: Send,
    shown: "button",
    run: async (webhook) =>
      void (await dataOf(api.POST("/api/v1/webhooks/{id}/test", { params: of(webhook), body: {} }))),
    done: () => "A test event is on its way.",
    forgets,
  },
  {
    id: "webhook.pause",
    verb: "Pause",
    needs: "PATCH /api/v1/webhooks/{id}",
    icon: Pause,
    shown: "button",
    isOffered: isActive,
    run: become("paused"),
    done: () => "Paused: deliveries wait.",
    forgets,
  },
  {
    id: "webhook.activate",
    verb: "Activate",
    needs: "PATCH /api/v1/webhooks/{id}",
    icon: Play,
    shown: "button",
    isOffered: (webhook) => !isActive(webhook),
    isNext: () => true,
    run: become("active"),
    done: () => "Active: deliveries continue.",
    forgets,
  },
  change,
  rotateSecret,
  {
    id: "webhook.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/webhooks/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "Deliveries that wait are dropped, and recorded ones go with it.",
      typed: ({ name }) => name,
    },
    run: async (webhook) => void (await dataOf(api.DELETE("/api/v1/webhooks/{id}", { params: of(webhook) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/webhooks",
  },
];
