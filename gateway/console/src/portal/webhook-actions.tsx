import { useState } from "react";
import { api } from "../api/api.ts";
import { type BodyOf, dataOf, Failed, useForget } from "../api/queries.ts";
import { ChangeWebhook } from "../operations/change-webhook.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import styles from "./portal.module.css";
import { ReplayForm } from "./replay-form.tsx";
import { SecretShown } from "./secret-shown.tsx";
import type { ViewProps } from "./view-parts.tsx";
import { DeleteWebhook, RotateSecret } from "./webhook-confirms.tsx";

type Open = "change" | "rotate" | "delete" | "replay" | null;
type WebhookActionsProps = {
  of: BodyOf<"/api/v1/webhooks/{id}">;
  may: ViewProps["may"];
  onDone(sentence: string): void;
  onGone(): void;
};

/** What this session may do with a webhook; no button for what it may not. */
export function WebhookActions({ of: webhook, may, onDone, onGone }: WebhookActionsProps) {
  const forget = useForget();
  const [open, setOpen] = useState<Open>(null);
  const [secret, setSecret] = useState<{ text: string | null } | null>(null);
  const params = { path: { id: webhook.id } };
  const close = () => setOpen(null);
  const isActive = webhook.status === "active";

  async function run(work: () => Promise<string>): Promise<void> {
    try {
      onDone(await work());
      await forget("/api/v1/webhooks");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      onDone(`Not done. ${failureSentence(error.failure)}`);
    }
  }
  const test = () =>
    run(async () => {
      await dataOf(api.POST("/api/v1/webhooks/{id}/test", { params, body: {} }));
      return "A test event is on its way.";
    });
  const pause = () =>
    run(async () => {
      await dataOf(api.PATCH("/api/v1/webhooks/{id}", { params, body: { status: isActive ? "paused" : "active" } }));
      return isActive ? "Paused: deliveries wait." : "Active: deliveries continue.";
    });
  const reveal = () =>
    run(async () => {
      setSecret({ text: (await dataOf(api.POST("/api/v1/webhooks/{id}/reveal-secret", { params }))).secret });
      return "";
    });

  return (
    <div className={styles.head}>
      {may("resend_deliveries") ? (
        <>
          <Button onClick={() => void test()}>Send a test</Button>
          <Button onClick={() => setOpen("replay")}>Replay</Button>
        </>
      ) : null}
      {may("manage_webhooks") ? (
        <>
          <Button onClick={() => void pause()}>{isActive ? "Pause" : "Activate"}</Button>
          <Button onClick={() => setOpen("change")}>Change</Button>
        </>
      ) : null}
      {may("reveal_secrets") ? <Button onClick={() => void reveal()}>Reveal secret</Button> : null}
      {may("rotate_secrets") ? <Button onClick={() => setOpen("rotate")}>Rotate secret</Button> : null}
      {may("manage_webhooks") ? <Button onClick={() => setOpen("delete")}>Delete</Button> : null}
      {open === "change" ? (
        <ChangeWebhook of={webhook} onClose={close} onDone={(sentence) => run(async () => sentence)} />
      ) : null}
      {open === "replay" ? <ReplayForm id={webhook.id} onClose={close} onDone={onDone} /> : null}
      {open === "rotate" ? (
        <RotateSecret id={webhook.id} onClose={close} onMade={(text) => setSecret({ text })} />
      ) : null}
      {open === "delete" ? <DeleteWebhook of={webhook} onClose={close} onGone={onGone} /> : null}
      {secret === null ? null : (
        <SecretShown title="Signing secret" secret={secret.text} onClose={() => setSecret(null)} />
      )}
    </div>
  );
}

const Button = ({ onClick, children }: { onClick(): void; children: string }) => (
  <button type="button" onClick={onClick}>
    {children}
  </button>
);
