import type { Scope } from "@muster/client";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { ScopeBoxes } from "../parts/scope-boxes.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { checkedOf } from "../rules/checked.ts";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

const days = [30, 90, 365] as const;

/** Makes an API key of an organization, and shows it this once. */
function NewKey({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) {
    return (
      <SecretOnce
        title="The new key"
        secret={secret}
        note="Programs send it as X-API-Key; it is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New API key"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const life = Number(form.get("days"));
        const body = {
          orgId,
          name: String(form.get("name")),
          scopes: checkedOf<Scope>(form, "scopes"),
          ...(life > 0 ? { expiresAt: new Date(Date.now() + life * 86_400_000).toISOString() } : {}),
        };
        const { key } = await dataOf(api.POST("/api/v1/api-keys", { body }));
        await onDone();
        setSecret(key);
      }}
      isKeptOpen
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} />
          </Field>
          <ScopeBoxes errorsOf={errorsOf} />
          <Field
            label="Ends"
            hint="A key without an end is accepted until somebody revokes it."
            errors={errorsOf("expiresAt")}
          >
            <select name="days" defaultValue="90">
              {days.map((count) => (
                <option key={count} value={count}>
                  in {count} days
                </option>
              ))}
              <option value="0">never</option>
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export const newKey: Operation<Chosen> = {
  id: "key.make",
  verb: "New API key",
  needs: "POST /api/v1/api-keys",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New API key", what: "A key" }, NewKey),
  forgets: ["/api/v1/api-keys"],
};
