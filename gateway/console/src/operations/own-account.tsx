import { Lock, Pencil } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { to } from "../parts/links.ts";
import { useMe } from "../parts/me.tsx";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

function ChangeOwnName({ onClose, onDone }: FormProps<Chosen>) {
  const me = useMe();
  return (
    <FormDialog
      title="Change your name"
      verb="Change"
      running="Changing …"
      send={async (form) => {
        await dataOf(api.PATCH("/api/v1/auth/me", { body: { name: String(form.get("name")) } }));
        await onDone("Your name is changed.");
      }}
      onClose={onClose}
    >
      {(errorsOf) => (
        <Field label="Name" hint="As colleagues and the audit trail see you." errors={errorsOf("name")}>
          <input name="name" defaultValue={me.name} autoComplete="name" required maxLength={255} />
        </Field>
      )}
    </FormDialog>
  );
}

export const changeOwnName: Operation<Chosen> = {
  id: "account.name",
  verb: "Change your name",
  needs: "PATCH /api/v1/auth/me",
  icon: Pencil,
  shown: "button",
  form: ChangeOwnName,
  forgets: ["/api/v1/auth/me", "/api/v1/users"],
};

/** Its form stands in the profile. */
export const changePassword: Operation<Chosen> = {
  id: "account.password",
  verb: "Change your password",
  needs: "POST /api/v1/auth/change-password",
  icon: Lock,
  isOnPage: true,
  leads: () => to("/profile"),
  forgets: [],
};
