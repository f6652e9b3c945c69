import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { newWebhookOf, WebhookFields } from "../parts/webhook-fields.tsx";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

function NewWebhook({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) {
    return (
      <SecretOnce
        title="The webhook is active"
        secret={secret}
        note="This secret signs each delivery. Your receiver verifies it; it is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New webhook"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      isKeptOpen
      send={async (form) => {
        const body = { orgId, ...newWebhookOf(form) };
        await dataOf(api.POST("/api/v1/webhooks", { body }));
        await onDone();
        setSecret(body.secret);
      }}
    >
      {(errorsOf) => <WebhookFields orgId={orgId} errorsOf={errorsOf} />}
    </FormDialog>
  );
}

export const newWebhook: Operation<Chosen> = {
  id: "webhook.make",
  verb: "New webhook",
  needs: "POST /api/v1/webhooks",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New webhook", what: "A webhook" }, NewWebhook),
  forgets: ["/api/v1/webhooks"],
};
