import type { EventName } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf, useForget } from "../api/queries.ts";
import { EventBoxes } from "../parts/event-boxes.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { RetrySchedule, retryScheduleOf } from "../parts/retry-schedule.tsx";
import { checkedOf } from "../rules/checked.ts";

/** 32 random bytes, as the Standard Webhooks write them. */
const newSecret = () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

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
        const secret = newSecret();
        const body = {
          name: String(form.get("name")),
          url: String(form.get("url")),
          secret,
          events: checkedOf<EventName>(form, "events"),
          ...retryScheduleOf(form),
        };
        await dataOf(api.POST("/api/v1/webhooks", { body }));
        await forget("/api/v1/webhooks");
        return secret;
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
