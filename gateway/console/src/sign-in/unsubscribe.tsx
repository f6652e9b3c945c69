import { type FormEvent, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Frame, Note, Problem } from "./frame.tsx";
import styles from "./sign-in.module.css";
import { useSignInContext } from "./use-sign-in-context.ts";

/** Ends the mails that the link is of; a button, since programs that read mails open links, too. */
export function Unsubscribe({ token }: { token: string }) {
  const { branding } = useSignInContext(null);
  const [isSending, setSending] = useState(false);
  const [isDone, setDone] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    setSending(true);
    const { failure: refusal } = await call("POST", "/auth/unsubscribe", { token });
    setSending(false);
    setFailure(refusal ?? null);
    setDone(!refusal);
  }

  return (
    <Frame title="Unsubscribe" branding={branding}>
      {isDone ? (
        <Note>You get no more of these mails.</Note>
      ) : (
        <form className={styles.form} onSubmit={send}>
          <Problem>{failure && failureSentence(failure)}</Problem>
          <button type="submit" data-weight="primary" disabled={isSending || token === ""}>
            {isSending ? "Unsubscribing …" : "Get no more of these mails"}
          </button>
        </form>
      )}
      <a href="/login">Back to sign-in</a>
    </Frame>
  );
}
