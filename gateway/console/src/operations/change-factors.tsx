import { type FormEvent, useState } from "react";
import { api } from "../api/api.ts";
import { makePasskey } from "../api/passkey.ts";
import { dataOf, Failed } from "../api/queries.ts";
import { accessToken } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { EnrollTotp } from "../parts/enroll-totp.tsx";
import forms from "../parts/field.module.css";
import { Field } from "../parts/field.tsx";
import { FormActions } from "../parts/form-actions.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { FailureState } from "../parts/states.tsx";
import { useWrite } from "../parts/use-write.ts";
import type { FormProps } from "./record-operation.ts";

/** Recovery codes, shown this once. */
export const RecoveryCodes = ({ codes, onClose }: { codes: readonly string[]; onClose(): void }) => (
  <SecretOnce
    title="Your recovery codes"
    secret={codes.join("\n")}
    note="They open your account without another factor; each works once, and they are shown only once."
    onClose={onClose}
  />
);

/** Closes a form whose own last step has said what is different. */
const closing =
  ({ onClose, onDone }: FormProps<object>) =>
  () => {
    onClose();
    void onDone("Your second factors are changed.");
  };

export function AddApp(props: FormProps<object>) {
  return (
    <Dialog title="Add an authenticator app" onClose={props.onClose}>
      <EnrollTotp onCancel={props.onClose} onDone={closing(props)} />
    </Dialog>
  );
}

export function RemoveApp({ onClose, onDone }: FormProps<object>) {
  return (
    <FormDialog
      title="Remove the authenticator app?"
      verb="Remove"
      running="Removing …"
      send={async (form) => {
        const body = { password: String(form.get("password")), code: String(form.get("code")).trim() };
        await dataOf(api.POST("/api/v1/auth/mfa/totp/disable", { body }));
        await onDone("The authenticator app is removed.");
      }}
      onClose={onClose}
    >
      {(errorsOf) => (
        <>
          <p>Its codes no longer open your account. With the last factor the recovery codes are removed, too.</p>
          <Field label="Your password" errors={errorsOf("password")}>
            <input name="password" type="password" autoComplete="current-password" required />
          </Field>
          <Field label="A code of the app, or a recovery code" errors={errorsOf("code")}>
            <input name="code" autoComplete="one-time-code" required spellCheck={false} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export function AddPasskey(props: FormProps<object>) {
  const write = useWrite();
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = closing(props);
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const made = await write.run(async () => {
      const token = (await accessToken()) ?? "";
      const { data, failure } = await makePasskey<{ recoveryCodes?: string[] }>(
        token,
        String(form.get("password")),
        String(form.get("name")).trim(),
      );
      if (failure) throw new Failed(failure);
      return data;
    });
    if (made === null) return;
    if (made.recoveryCodes) setCodes(made.recoveryCodes);
    else close();
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={close} />;
  return (
    <Dialog title="Add a passkey" onClose={props.onClose}>
      <form className={forms.form} onSubmit={send}>
        {write.failure ? <FailureState failure={write.failure} /> : null}
        <Field label="Name" hint="Where it is, such as “Laptop”.">
          <input name="name" maxLength={255} />
        </Field>
        <Field label="Your password">
          <input name="password" type="password" autoComplete="current-password" maxLength={1024} />
        </Field>
        <FormActions onCancel={props.onClose} isRunning={write.isRunning} running="Waiting for your device …">
          Continue
        </FormActions>
      </form>
    </Dialog>
  );
}
