import type { EventName } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { EventBoxes } from "../../parts/event-boxes.tsx";
import { Field } from "../../parts/field.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { useMe } from "../../parts/me.tsx";
import { RetrySchedule, retryScheduleOf } from "../../parts/retry-schedule.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { checkedOf } from "../../rules/checked.ts";

/** A secret that signs deliveries: 32 random bytes, as the Standard Webhooks write them. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

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
        const fresh = newSecret();
        const body = {
          ...(orgId ? { orgId } : {}),
          name: String(form.get("name")),
          url: String(form.get("url")),
          secret: fresh,
          events: checkedOf<EventName>(form, "events"),
          ...retryScheduleOf(form),
        };
        await dataOf(api.POST("/api/v1/webhooks", { body }));
        await forget("/api/v1/webhooks");
        setSecret(fresh);
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} />
          </Field>
          <Field label="Address" hint="HTTPS, to a public host." errors={errorsOf("url")}>
            <input name="url" type="url" required placeholder="https://example.com/hook" maxLength={4096} />
          </Field>
          <EventBoxes errorsOf={errorsOf} />
          <RetrySchedule chosen="extended" errors={errorsOf("retrySchedule")} />
        </>
      )}
    </FormDialog>
  );
}
