import type { Scope } from "@muster/client";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { ScopeBoxes } from "../parts/scope-boxes.tsx";
import { checkedOf } from "../rules/checked.ts";
import { type Chosen, inOrganization } from "./chosen.tsx";
import { PrincipalKey } from "./principals.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes a principal of an organization, and shows its key this once. */
function NewPrincipal({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) return <PrincipalKey secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title="New service principal"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const body = { orgId, name: String(form.get("name")), scopes: checkedOf<Scope>(form, "scopes") };
        const { key } = await dataOf(api.POST("/api/v1/service-principals", { body }));
        await onDone();
        setSecret(key);
      }}
      isKeptOpen
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" />
          </Field>
          <ScopeBoxes errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

export const newPrincipal: Operation<Chosen> = {
  id: "principal.make",
  verb: "New service principal",
  needs: "POST /api/v1/service-principals",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New service principal", what: "A service principal" }, NewPrincipal),
  forgets: ["/api/v1/service-principals", "/api/v1/api-keys"],
};
