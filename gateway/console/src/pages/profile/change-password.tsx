import { type FormEvent, useState } from "react";
import { call } from "../../api/call.ts";
import { Failed } from "../../api/queries.ts";
import { accessToken } from "../../api/session.ts";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { FailureState, Said } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";

/** Changes the user's own password, which ends their other sessions. */
export function ChangePassword() {
  const write = useWrite();
  const [said, say] = useState<string | null>(null);
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    say(null);
    const body = { currentPassword: String(form.get("current")), newPassword: String(form.get("new")) };
    const done = await write.run(async () => {
      const { failure } = await call("POST", "/auth/change-password", body, (await accessToken()) ?? undefined);
      if (failure) throw new Failed(failure);
      return true;
    });
    if (!done) return;
    element.reset();
    say("Your password is changed. Your other sessions have ended.");
  }
  return (
    <Section title="Password">
      <form className={forms.form} onSubmit={send}>
        <Said>{said}</Said>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label="Current password" errors={write.errorsOf("currentPassword")}>
          <input name="current" type="password" autoComplete="current-password" required maxLength={1024} />
        </Field>
        <Field label="New password" hint="12 characters or more." errors={write.errorsOf("newPassword")}>
          <input name="new" type="password" autoComplete="new-password" required minLength={12} maxLength={1024} />
        </Field>
        <div>
          <button type="submit" disabled={write.isRunning}>
            {write.isRunning ? "Changing …" : "Change password"}
          </button>
        </div>
      </form>
    </Section>
  );
}
