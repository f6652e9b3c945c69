import { type FormEvent, type ReactNode, useState } from "react";
import type { Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Problem } from "./frame.tsx";
import styles from "./sign-in.module.css";

/** A new password, typed once and shown on demand; `children` are shown above it. */
export function NewPasswordForm({
  action,
  children,
  onSend,
}: {
  action: string;
  children?: ReactNode;
  onSend(form: FormData, password: string): Promise<Failure | null>;
}) {
  const [isShown, show] = useState(false);
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const error = failure?.details?.fieldErrors.password?.[0];

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isSending) return;
    const form = new FormData(event.currentTarget);
    setSending(true);
    setFailure(await onSend(form, String(form.get("password"))));
    setSending(false);
  }

  return (
    <form className={styles.form} onSubmit={send}>
      <Problem>{failure && !error ? failureSentence(failure) : null}</Problem>
      {children}
      <div className={styles.field}>
        <label htmlFor="new-password">New password</label>
        <input
          id="new-password"
          name="password"
          type={isShown ? "text" : "password"}
          autoComplete="new-password"
          minLength={12}
          maxLength={1024}
          required
          aria-invalid={error ? true : undefined}
          aria-describedby="password-hint"
        />
        <p id="password-hint" className={error ? styles.error : styles.hint}>
          {error ?? "12 characters or more. A few words are easier to remember than symbols."}
        </p>
      </div>
      <label>
        <input type="checkbox" checked={isShown} onChange={(event) => show(event.target.checked)} /> Show the password
      </label>
      <button type="submit" data-weight="primary" disabled={isSending}>
        {isSending ? "Saving …" : action}
      </button>
    </form>
  );
}
