import { type FormEvent, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Problem } from "./frame.tsx";
import styles from "./sign-in.module.css";
import { startSso } from "./sso-arrival.ts";

type Found = { providerName: string | null; loginUrl: string | null };

/** Leads to the identity provider of an e-mail address's domain. */
export function SsoByEmail({ next }: { next: string }) {
  const [isOpen, setOpen] = useState(false);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const email = String(new FormData(event.currentTarget).get("sso-email")).trim();
    setSending(true);
    const { data, failure } = await call<Found>("POST", "/sso/find", { email });
    setSending(false);
    const loginUrl = data?.loginUrl;
    if (loginUrl) return startSso(loginUrl, next);
    setProblem(sentenceOf(failure));
  }

  if (!isOpen) {
    return (
      <button type="button" data-weight="link" onClick={() => setOpen(true)}>
        Sign in through your organization
      </button>
    );
  }
  return (
    <form className={styles.form} onSubmit={send}>
      <div className={styles.or}>or</div>
      <Problem>{problem}</Problem>
      <div className={styles.field}>
        <label htmlFor="sso-email">Work e-mail</label>
        <input
          id="sso-email"
          name="sso-email"
          type="email"
          autoComplete="email"
          required
          maxLength={255}
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: opened by the user this moment
          autoFocus
        />
      </div>
      <button type="submit" disabled={isSending}>
        {isSending ? "Looking …" : "Continue to your identity provider"}
      </button>
    </form>
  );
}

const sentenceOf = (failure: Failure | undefined) =>
  failure ? failureSentence(failure) : "No identity provider signs in this domain. Use your password.";
