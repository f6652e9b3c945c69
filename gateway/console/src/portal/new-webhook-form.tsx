import { api } from "../api/api.ts";
import { dataOf, useForget } from "../api/queries.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { newWebhookOf, WebhookFields } from "../parts/webhook-fields.tsx";

/** A new webhook with a secret of its own, which `onMade` shows. */
export function NewWebhookForm({ onClose, onMade }: { onClose(): void; onMade(secret: string): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="New webhook"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      onSent={onMade}
      send={async (form) => {
        const body = newWebhookOf(form);
        await dataOf(api.POST("/api/v1/webhooks", { body }));
        await forget("/api/v1/webhooks");
        return body.secret;
      }}
    >
      {(errorsOf) => <WebhookFields errorsOf={errorsOf} />}
    </FormDialog>
  );
}
