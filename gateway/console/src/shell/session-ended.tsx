import { type FormEvent, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { signedInAgain } from "../api/session.ts";
import { noteSession } from "../api/signed-in-mark.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./shell.module.css";

/**
 * Signs the same user in again over the page, whose input is kept; a user with a second factor or another account
 * goes by the sign-in page.
 */
export function SessionEnded({ me }: { me: Me }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isSending, setSending] = useState(false);
  const elsewhere = () =>
    location.assign(`/login?note=session-ended&next=${encodeURIComponent(`${location.pathname}${location.search}`)}`);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get("password"));
    setFailure(null);
    setSending(true);
    const body = { email: me.email, password, session: "cookie" };
    const { data, failure: refusal } = await call<{ mfaRequired?: true }>("POST", "/auth/login", body);
    setSending(false);
    if (refusal) return setFailure(refusal);
    if (data?.mfaRequired) return elsewhere();
    noteSession();
    // The session's message about the sign-in closes this dialog, in every tab.
    const token = await signedInAgain().catch(setFailure);
    if (token === null) elsewhere();
  }

  return (
    <Dialog title="Your session has ended">
      <form onSubmit={send} className={styles.form}>
        <p>Sign in again to go on where you are; nothing on this page is lost.</p>
        {failure ? <p role="alert">{failureSentence(failure)}</p> : null}
        <label>
          Password of {me.email}
          <input name="password" type="password" autoComplete="current-password" required autoFocus />
        </label>
        <DialogActions>
          <button type="button" onClick={elsewhere}>
            Sign in another way
          </button>
          <button type="submit" data-weight="primary" disabled={isSending}>
            {isSending ? "Signing in …" : "Sign in"}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
