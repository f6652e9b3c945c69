import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { useMe } from "../../api/me.tsx";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import styles from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { FormActions } from "../../parts/form-actions.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { FailureState } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";

/** A secret that signs deliveries: 32 random bytes, as the Standard Webhooks write them. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

export function NewWebhook({ orgId, onClose }: { orgId: string | undefined; onClose(): void }) {
  const me = useMe();
  const types = useGet("/api/v1/webhooks/event-types");
  const write = useWrite();
  const forget = useForget();
  const [isAll, setAll] = useState(true);
  const [secret, setSecret] = useState<string | null>(null);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const fresh = newSecret();
    const body = {
      ...(orgId ? { orgId } : {}),
      name: String(form.get("name")),
      url: String(form.get("url")),
      secret: fresh,
      events: isAll ? ["*"] : form.getAll("events").map(String),
    };
    const made = await write.run(() => dataOf(api.POST("/api/v1/webhooks", { body })));
    if (made === null) return;
    await forget("/api/v1/webhooks");
    setSecret(fresh);
  }

  if (secret !== null) {
    return (
      <SecretOnce
        title="The webhook is active"
        secret={secret}
        note="This secret signs each delivery. Your receiver verifies it; it is shown this once."
        onClose={onClose}
      />
    );
  }
  if (me.scope !== "organization" && !orgId) {
    return (
      <Dialog title="New webhook" onClose={onClose}>
        <p>Choose the organization at the top of the page first.</p>
        <DialogActions>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form className={styles.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label="Name" faults={write.faultsOf("name")}>
          <input name="name" required maxLength={255} />
        </Field>
        <Field label="Address" hint="HTTPS, to a host that is public." faults={write.faultsOf("url")}>
          <input name="url" type="url" required placeholder="https://example.com/hook" maxLength={4096} />
        </Field>
        <label>
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} /> All events, also
          those of later versions
        </label>
        {isAll ? null : (
          <fieldset className={styles.choices}>
            <legend>Events</legend>
            {(types.data?.data ?? []).map(({ type }) => (
              <label key={type}>
                <input type="checkbox" name="events" value={type} /> {type}
              </label>
            ))}
          </fieldset>
        )}
        {write.faultsOf("events") ? <p role="alert">{write.faultsOf("events")?.join(" ")}</p> : null}
        <FormActions onCancel={onClose} isRunning={write.isRunning} running="Creating …">
          Create
        </FormActions>
      </form>
    </Dialog>
  );
}
