import { type FormEvent, useEffect, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { useCountdown } from "../parts/use-countdown.ts";
import { failureSentence, waiting } from "../rules/failure-sentence.ts";
import styles from "./sign-in.module.css";

export type SignInReply = { mfaRequired: true; mfaToken: string; methods: string[] } | { accessToken: string };

/** E-mail and password. */
export function PasswordForm({
  onReply,
  onProblem,
}: {
  onReply(reply: SignInReply): void;
  onProblem(sentence: string | null): void;
}) {
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const left = useCountdown(failure);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the callback is the page's own
  useEffect(() => {
    if (failure?.code !== "rate_limited") return;
    onProblem(left > 0 ? `Too many attempts. Try again in ${waiting(left)}.` : null);
  }, [failure, left]);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isSending || left > 0) return;
    const form = new FormData(event.currentTarget);
    setSending(true);
    onProblem(null);
    const credentials = { email: String(form.get("email")).trim(), password: String(form.get("password")) };
    const { data, failure: refusal } = await call<SignInReply>("POST", "/auth/login", {
      ...credentials,
      session: "cookie",
    });
    setSending(false);
    setFailure(refusal ?? null);
    if (refusal) onProblem(failureSentence(refusal));
    else if (data) onReply(data);
  }

  return (
    <form className={styles.form} onSubmit={send}>
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
      <div className={styles.field}>
        <label htmlFor="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          maxLength={1024}
        />
      </div>
      <button type="submit" data-weight="primary" disabled={isSending || left > 0}>
        {isSending ? "Signing in …" : left > 0 ? `Wait ${left} s` : "Sign in"}
      </button>
      <p className={styles.aside}>
        <a href="/reset-password">Forgot your password?</a>
      </p>
    </form>
  );
}
