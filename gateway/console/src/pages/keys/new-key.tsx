import type { FormEvent } from "react";
import { api } from "../../api/api.ts";
import { useMe } from "../../api/me.tsx";
import { dataOf, useForget } from "../../api/queries.ts";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { FormActions } from "../../parts/form-actions.tsx";
import { FailureState } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";

/** Scopes of this platform's own routes; the API judges each. */
const scopes = [
  "devices:read",
  "devices:write",
  "logs:read",
  "sites:read",
  "sites:write",
  "organizations:read",
  "organizations:write",
  "audit:read",
  "webhooks:read",
  "webhooks:write",
  "events:write",
] as const;

const days = [30, 90, 365] as const;

export function NewKey({
  orgId,
  onClose,
  onMade,
}: {
  orgId: string | undefined;
  onClose(): void;
  onMade(key: string): void;
}) {
  const me = useMe();
  const write = useWrite();
  const forget = useForget();
  const place = me.orgId ?? orgId;

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (!place) return;
    const form = new FormData(event.currentTarget);
    const life = Number(form.get("days"));
    const body = {
      orgId: place,
      name: String(form.get("name")),
      scopes: form.getAll("scopes").map(String),
      ...(life > 0 ? { expiresAt: new Date(Date.now() + life * 86_400_000).toISOString() } : {}),
    };
    const made = await write.run(() => dataOf(api.POST("/api/v1/api-keys", { body })));
    if (made === null) return;
    await forget("/api/v1/api-keys");
    onClose();
    onMade(made.key);
  }

  if (!place) {
    return (
      <Dialog title="New API key" onClose={onClose}>
        <p>A key belongs to one organization: choose it at the top of the page first.</p>
        <DialogActions>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form className={forms.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label="Name" faults={write.faultsOf("name")}>
          <input name="name" required maxLength={255} />
        </Field>
        <fieldset className={forms.choices}>
          <legend>Scopes</legend>
          {scopes.map((scope) => (
            <label key={scope}>
              <input type="checkbox" name="scopes" value={scope} /> {scope}
            </label>
          ))}
        </fieldset>
        {write.faultsOf("scopes") ? <p role="alert">{write.faultsOf("scopes")?.join(" ")}</p> : null}
        <Field label="Ends" faults={write.faultsOf("expiresAt")}>
          <select name="days" defaultValue="90">
            {days.map((count) => (
              <option key={count} value={count}>
                in {count} days
              </option>
            ))}
            <option value="0">never</option>
          </select>
        </Field>
        <FormActions onCancel={onClose} isRunning={write.isRunning} running="Creating …">
          Create
        </FormActions>
      </form>
    </Dialog>
  );
}
