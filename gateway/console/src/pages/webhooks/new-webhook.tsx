import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { useMe } from "../../parts/me.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { newWebhookOf, WebhookFields } from "../../parts/webhook-fields.tsx";

export function NewWebhook({ orgId, onClose }: { orgId: string | undefined; onClose(): void }) {
  const me = useMe();
  const forget = useForget();
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
  if (me.scope !== "organization" && !orgId) {
    return <ChooseFirst title="New webhook" what="A webhook" onClose={onClose} />;
  }
  return (
    <FormDialog
      title="New webhook"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      isKeptOpen
      send={async (form) => {
        const body = { ...(orgId ? { orgId } : {}), ...newWebhookOf(form) };
        await dataOf(api.POST("/api/v1/webhooks", { body }));
        await forget("/api/v1/webhooks");
        setSecret(body.secret);
      }}
    >
      {(errorsOf) => <WebhookFields orgId={me.orgId ?? orgId} errorsOf={errorsOf} />}
    </FormDialog>
  );
}
