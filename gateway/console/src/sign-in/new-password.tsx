import { type FormEvent, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Frame, Note, Problem } from "./frame.tsx";
import { NewPasswordForm } from "./new-password-form.tsx";
import styles from "./sign-in.module.css";
import { useSignInContext } from "./use-sign-in-context.ts";

/** With the token of a mail: sets a new password. Without one: asks for the mail. */
export function NewPassword({ token }: { token: string }) {
  const { branding } = useSignInContext(null);
  if (token === "") return <AskForMail />;
  return (
    <Frame title="Set a new password" branding={branding}>
      <NewPasswordForm
        action="Set password"
        onSend={async (_form, password) => {
          const { failure } = await call("POST", "/auth/reset-password", { token, password });
          if (!failure) location.replace("/login?note=password-set");
          return failure ?? null;
        }}
      />
      <p className={styles.hint}>All sessions of your account end. The link works once, for an hour.</p>
      <a href="/reset-password">Request another link</a>
    </Frame>
  );
}

function AskForMail() {
  const { branding } = useSignInContext(null);
  const [isSending, setSending] = useState(false);
  const [sentTo, setSentTo] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const email = String(new FormData(event.currentTarget).get("email")).trim();
    setSending(true);
    const { failure: refusal } = await call("POST", "/auth/forgot-password", { email });
    setSending(false);
    setFailure(refusal ?? null);
    if (!refusal) setSentTo(email);
  }

  return (
    <Frame title="Forgot your password?" branding={branding}>
      {sentTo === null ? (
        <form className={styles.form} onSubmit={send}>
          <Problem>{failure && failureSentence(failure)}</Problem>
          <div className={styles.field}>
            <label htmlFor="email">E-mail</label>
            <input
              id="email"
              name="email"
              type="email"
              autoComplete="username"
              required
              maxLength={255}
              spellCheck={false}
            />
          </div>
          <button type="submit" data-weight="primary" disabled={isSending}>
            {isSending ? "Sending …" : "Send me a link"}
          </button>
        </form>
      ) : (
        <Note>If {sentTo} has an account with a password, a link is on its way. It works once, for an hour.</Note>
      )}
      <a href="/login">Back to sign-in</a>
    </Frame>
  );
}
