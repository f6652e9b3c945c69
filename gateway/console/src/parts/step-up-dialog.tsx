import { type FormEvent, useState, useSyncExternalStore } from "react";
import { call, type Failure, type Outcome } from "../api/call.ts";
import { canUsePasskeys, provePasskey } from "../api/passkey.ts";
import { queryClient } from "../api/queries.ts";
import { accessToken } from "../api/session.ts";
import { endStepUp, isStepUpWanted, onStepUp } from "../api/step-up.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Dialog, DialogActions } from "./dialog.tsx";
import { EnrollTotp } from "./enroll-totp.tsx";
import { useMe } from "./me.tsx";

/** Where an operation requires a second factor: passkey or code; users without a factor enroll one first. */
export function StepUpDialog() {
  const isWanted = useSyncExternalStore(onStepUp, isStepUpWanted);
  return isWanted ? <StepUp /> : null;
}

function StepUp() {
  const me = useMe();
  // As it began: the recovery codes are shown after the factor counts.
  const [hasFactor] = useState(me.mfaEnabled);
  const [isRequired] = useState(me.secondFactorRequired);
  if (hasFactor) return <Prove />;
  return (
    <Dialog title="A second factor is needed" onClose={() => endStepUp(false)}>
      {isRequired ? null : (
        <p>Changes like this one need a second factor. You have none yet: set one up now, then the change goes on.</p>
      )}
      <EnrollTotp
        onDone={() => {
          void queryClient.invalidateQueries({ queryKey: ["/api/v1/auth/me"] });
          endStepUp(true);
        }}
        onCancel={() => endStepUp(false)}
      />
    </Dialog>
  );
}

function Prove() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isSending, setSending] = useState(false);

  async function finish(prove: (token: string) => Promise<Outcome<unknown>>) {
    setSending(true);
    setFailure(null);
    const token = await accessToken().catch(() => null);
    const { failure: refusal } = token === null ? { failure: null } : await prove(token);
    setSending(false);
    if (refusal) setFailure(refusal);
    else endStepUp(token !== null);
  }

  function sendCode(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get("code")).trim();
    void finish((token) => call("POST", "/auth/mfa/verify", { code, session: "cookie" }, token));
  }

  return (
    <Dialog title="Confirm that it is you" onClose={() => endStepUp(false)}>
      {failure ? <p role="alert">{failureSentence(failure)}</p> : null}
      <form onSubmit={sendCode}>
        <label>
          Code from your app, or a recovery code
          <input name="code" autoComplete="one-time-code" required maxLength={64} spellCheck={false} autoFocus />
        </label>
        <DialogActions>
          <button type="button" onClick={() => endStepUp(false)}>
            Cancel
          </button>
          {canUsePasskeys() ? (
            <button
              type="button"
              disabled={isSending}
              onClick={() => void finish((token) => provePasskey({ accessToken: token }))}
            >
              Use a passkey
            </button>
          ) : null}
          <button type="submit" data-weight="primary" disabled={isSending}>
            Continue
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
