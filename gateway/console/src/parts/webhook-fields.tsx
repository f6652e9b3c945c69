import type { EventName } from "@muster/client";
import { useState } from "react";
import { checkedOf } from "../rules/checked.ts";
import { EventBoxes } from "./event-boxes.tsx";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { RetrySchedule, retryScheduleOf } from "./retry-schedule.tsx";
import { addressWarnings, WebhookWarnings } from "./webhook-warnings.tsx";

/** A secret that signs deliveries: 32 random bytes, as the Standard Webhooks write them. */
const newSecret = () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

/** A new webhook of the fields below, with a secret of its own. */
export const newWebhookOf = (form: FormData) => ({
  name: String(form.get("name")),
  url: String(form.get("url")),
  secret: newSecret(),
  events: checkedOf<EventName>(form, "events"),
  ...retryScheduleOf(form),
});

type WebhookFieldsProps = {
  /** Whose own event types can be chosen, too. */
  orgId?: string | undefined;
  errorsOf: ErrorsOf;
};

/** The fields of a new webhook. */
export function WebhookFields({ orgId, errorsOf }: WebhookFieldsProps) {
  const [url, setUrl] = useState("");
  return (
    <>
      <Field label="Name" errors={errorsOf("name")}>
        <input name="name" required maxLength={255} />
      </Field>
      <Field label="Address" hint="HTTPS, to a public host." errors={errorsOf("url")}>
        <input
          name="url"
          type="url"
          required
          placeholder="https://example.com/hook"
          maxLength={4096}
          onChange={({ target }) => setUrl(target.value)}
        />
      </Field>
      <WebhookWarnings of={{ warnings: addressWarnings(url) }} />
      <EventBoxes orgId={orgId} errorsOf={errorsOf} />
      <RetrySchedule chosen="extended" errors={errorsOf("retrySchedule")} />
    </>
  );
}
