import { type FormEvent, type ReactNode, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { accessToken } from "../api/session.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { DialogActions } from "./dialog.tsx";
import styles from "./enroll-totp.module.css";
import { CopyButton } from "./list-head.tsx";

type Setup = { secret: string; otpauthUrl: string; qrCodeDataUrl: string };
type Step = { at: "password" } | { at: "code"; setup: Setup } | { at: "stored"; recoveryCodes: string[] };

/** Password, QR code, first code, recovery codes: an authenticator app as second factor. */
export function EnrollTotp({ onDone, onCancel }: { onDone(): void; onCancel(): void }) {
  const [step, setStep] = useState<Step>({ at: "password" });
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isSending, setSending] = useState(false);
  const [isStored, setStored] = useState(false);

  async function send<T>(path: string, body: object): Promise<T | null> {
    setSending(true);
    setFailure(null);
    const token = await accessToken().catch(() => null);
    const { data, failure: refusal } = await call<T>("POST", path, body, token ?? undefined);
    setSending(false);
    setFailure(refusal ?? null);
    return data ?? null;
  }

  async function begin(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get("password"));
    const setup = await send<Setup>("/auth/mfa/totp/setup", { password });
    if (setup) setStep({ at: "code", setup });
  }

  async function enable(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get("code"));
    const enabled = await send<{ recoveryCodes: string[] }>("/auth/mfa/totp/enable", { code });
    // A user with another factor has recovery codes already.
    if (enabled?.recoveryCodes.length === 0) onDone();
    else if (enabled) setStep({ at: "stored", recoveryCodes: enabled.recoveryCodes });
  }

  const problem = failure ? <p role="alert">{failureSentence(failure)}</p> : null;
  const form = { problem, isSending, onCancel };
  if (step.at === "password") return <PasswordForm {...form} begin={begin} />;
  if (step.at === "code") return <CodeForm {...form} enable={enable} setup={step.setup} />;
  const codes = step.recoveryCodes.join("\n");
  return (
    <div className={styles.form}>
      <p>
        Your second factor is on. These recovery codes open your account without it; each works once, and they are shown
        only once.
      </p>
      <pre className={styles.key}>{codes}</pre>
      <CopyButton what="codes" text={() => codes} />
      <label>
        <input type="checkbox" checked={isStored} onChange={(event) => setStored(event.target.checked)} /> I have stored
        them
      </label>
      <DialogActions>
        <button type="button" data-weight="primary" disabled={!isStored} onClick={onDone}>
          Go on
        </button>
      </DialogActions>
    </div>
  );
}

type FormParts = { problem: ReactNode; isSending: boolean; onCancel(): void };
type Submit = (event: FormEvent<HTMLFormElement>) => void;

function PasswordForm({ problem, isSending, onCancel, begin }: FormParts & { begin: Submit }) {
  return (
    <form onSubmit={begin} className={styles.form}>
      {problem}
      <label>
        Your password
        <input name="password" type="password" autoComplete="current-password" maxLength={1024} />
      </label>
      <DialogActions>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" data-weight="primary" disabled={isSending}>
          Continue
        </button>
      </DialogActions>
    </form>
  );
}

function CodeForm({ problem, isSending, onCancel, enable, setup }: FormParts & { enable: Submit; setup: Setup }) {
  return (
    <form onSubmit={enable} className={styles.form}>
      {problem}
      <p>Scan this with an authenticator app, or type the text into it.</p>
      <img src={setup.qrCodeDataUrl} alt="QR code of the key below" width={192} height={192} className={styles.qr} />
      <pre className={styles.key}>{setup.secret.replace(/(.{4})(?=.)/g, "$1 ")}</pre>
      <label>
        The six digits that the app shows
        <input name="code" inputMode="numeric" autoComplete="one-time-code" pattern="\s*\d{3}\s?\d{3}\s*" required />
      </label>
      <DialogActions>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" data-weight="primary" disabled={isSending}>
          Turn on
        </button>
      </DialogActions>
    </form>
  );
}
