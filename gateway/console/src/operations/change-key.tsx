import type { ItemOf, Scope } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { ScopeBoxes } from "../parts/scope-boxes.tsx";
import { checkedOf } from "../rules/checked.ts";
import type { FormProps } from "./record-operation.ts";

type Key = ItemOf<"/api/v1/api-keys">;

/** Changes an active key: name, scopes, requests an hour, addresses that it is accepted from. */
export function ChangeKey({ of: key, onClose, onDone }: FormProps<Key>) {
  return (
    <FormDialog
      title={`Change ${key.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const body = {
          name: String(form.get("name")),
          scopes: checkedOf<Scope>(form, "scopes"),
          rateLimit: Number(form.get("rateLimit")),
          allowedIps: String(form.get("allowedIps"))
            .split(/[\s,]+/)
            .filter((range) => range !== ""),
        };
        await dataOf(api.PATCH("/api/v1/api-keys/{id}", { params: { path: { id: key.id } }, body }));
        await onDone("Saved; in force at once.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={key.name} />
          </Field>
          <ScopeBoxes chosen={key.scopes} errorsOf={errorsOf} />
          <Field label="Requests per hour" errors={errorsOf("rateLimit")}>
            <input name="rateLimit" type="number" required min={1} max={100000} defaultValue={key.rateLimit} />
          </Field>
          <Field
            label="Accepted from"
            hint="Addresses or CIDR ranges, one per line; empty: any address."
            errors={errorsOf("allowedIps")}
          >
            <textarea name="allowedIps" rows={3} spellCheck={false} defaultValue={key.allowedIps.join("\n")} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
