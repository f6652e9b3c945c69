import type { EventName, ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { EventBoxes } from "../parts/event-boxes.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { RetrySchedule, retryScheduleOf } from "../parts/retry-schedule.tsx";
import { WebhookWarnings } from "../parts/webhook-warnings.tsx";
import { checkedOf } from "../rules/checked.ts";

type ChangeWebhookProps = {
  of: ItemOf<"/api/v1/webhooks">;
  onClose(): void;
  onDone(sentence: string): Promise<void>;
};

/** Changes a webhook; it counts from the next attempt on, of deliveries that wait, too. */
export function ChangeWebhook({ of: webhook, onClose, onDone }: ChangeWebhookProps) {
  return (
    <FormDialog
      title={`Change ${webhook.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const [url, secret] = [String(form.get("url")), String(form.get("secret"))];
        const body = {
          name: String(form.get("name")),
          events: checkedOf<EventName>(form, "events"),
          ordered: form.has("ordered"),
          ...retryScheduleOf(form),
          // The shown address may lack credentials: it is sent only when the user changed it.
          ...(url === webhook.url ? {} : { url }),
          ...(secret === "" ? {} : { secret }),
        };
        await dataOf(api.PATCH("/api/v1/webhooks/{id}", { params: { path: { id: webhook.id } }, body }));
        await onDone("Saved; it takes effect with the next attempt.");
      }}
    >
      {(errorsOf) => (
        <>
          <WebhookWarnings of={webhook} />
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={webhook.name} />
          </Field>
          <Field label="Address" hint="HTTPS, to a public host." errors={errorsOf("url")}>
            <input name="url" type="url" required maxLength={4096} defaultValue={webhook.url} />
          </Field>
          <Field
            label="Secret"
            hint="Empty: it stays. Required again for an address on another host. Rotating generates a strong one."
            errors={errorsOf("secret")}
          >
            <input name="secret" type="password" maxLength={512} autoComplete="off" />
          </Field>
          <EventBoxes chosen={webhook.events} orgId={webhook.orgId} errorsOf={errorsOf} />
          <RetrySchedule chosen={webhook.retrySchedule} errors={errorsOf("retrySchedule")} />
          <label>
            <input type="checkbox" name="ordered" defaultChecked={webhook.ordered} /> One at a time, in the order of the
            events; a failing one holds back later ones
          </label>
        </>
      )}
    </FormDialog>
  );
}
