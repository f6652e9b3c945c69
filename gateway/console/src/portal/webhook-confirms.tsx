import { api } from "../api/api.ts";
import { dataOf, useForget } from "../api/queries.ts";
import { Confirm } from "../parts/confirm.tsx";

type RotateSecretProps = { id: string; onClose(): void; onMade(secret: string): void };

/** Asks before a webhook gets a new secret. */
export function RotateSecret({ id, onClose, onMade }: RotateSecretProps) {
  const forget = useForget();
  async function rotate(): Promise<void> {
    const params = { path: { id } };
    const { secret } = await dataOf(api.POST("/api/v1/webhooks/{id}/rotate-secret", { params, body: {} }));
    onMade(secret);
    await forget("/api/v1/webhooks");
  }
  return (
    <Confirm title="Rotate the secret?" verb="Rotate" onClose={onClose} action={rotate}>
      <p>Deliveries are signed with both secrets for a while, so that your receiver can change over.</p>
    </Confirm>
  );
}

type DeleteWebhookProps = { of: { id: string; name: string }; onClose(): void; onGone(): void };

/** Asks before a webhook is deleted, whose name is typed. */
export function DeleteWebhook({ of: { id, name }, onClose, onGone }: DeleteWebhookProps) {
  const forget = useForget();
  async function remove(): Promise<void> {
    await dataOf(api.DELETE("/api/v1/webhooks/{id}", { params: { path: { id } } }));
    onGone();
    await forget("/api/v1/webhooks");
  }
  return (
    <Confirm title={`Delete ${name}?`} verb="Delete" typed={name} onClose={onClose} action={remove}>
      <p>Deliveries that wait are dropped, and recorded ones go with it.</p>
    </Confirm>
  );
}
