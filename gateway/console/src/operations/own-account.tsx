import { Lock, Pencil } from "lucide-react";
import { api } from "../api/api.ts";
import { call } from "../api/call.ts";
import { dataOf, Failed } from "../api/queries.ts";
import { accessToken } from "../api/session.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
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

function ChangePassword({ onClose, onDone }: FormProps<Chosen>) {
  return (
    <FormDialog
      title="Change your password"
      verb="Change"
      running="Changing …"
      send={async (form) => {
        const body = { currentPassword: String(form.get("current")), newPassword: String(form.get("new")) };
        const { failure } = await call("POST", "/auth/change-password", body, (await accessToken()) ?? undefined);
        if (failure) throw new Failed(failure);
        await onDone("Your password is changed. Your other sessions have ended.");
      }}
      onClose={onClose}
    >
      {(errorsOf) => (
        <>
          <p>Your other sessions end with it.</p>
          <Field label="Current password" errors={errorsOf("currentPassword")}>
            <input name="current" type="password" autoComplete="current-password" required maxLength={1024} />
          </Field>
          <Field label="New password" hint="12 characters or more." errors={errorsOf("newPassword")}>
            <input name="new" type="password" autoComplete="new-password" required minLength={12} maxLength={1024} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export const changePassword: Operation<Chosen> = {
  id: "account.password",
  verb: "Change your password",
  needs: "POST /api/v1/auth/change-password",
  icon: Lock,
  form: ChangePassword,
  forgets: ["/api/v1/auth/sessions"],
};
