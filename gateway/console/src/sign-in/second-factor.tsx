import { type FormEvent, type RefObject, useRef, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { canUsePasskeys, provePasskey } from "../api/passkey.ts";
import { useCountdown } from "../parts/use-countdown.ts";
import { failureSentence, waiting } from "../rules/failure-sentence.ts";
import { Problem } from "./frame.tsx";
import type { SignInReply } from "./password-form.tsx";
import styles from "./sign-in.module.css";

type Way = "passkey" | "totp" | "recovery_code";

const names: Readonly<Record<Way, string>> = {
  passkey: "Use a passkey",
  totp: "Use a code from your app",
  recovery_code: "Use a recovery code",
};

/** Completes a sign-in by passkey, code or recovery code, whichever the account has; the strongest first. */
export function SecondFactor({
  mfaToken,
  methods,
  onDone,
  onStartAgain,
}: {
  mfaToken: string;
  methods: readonly string[];
  onDone(): void;
  onStartAgain(sentence: string): void;
}) {
  const order: Way[] = ["passkey", "totp", "recovery_code"];
  const ways = order.filter((way) => methods.includes(way) && (way !== "passkey" || canUsePasskeys()));
  const [way, setWay] = useState<Way>(ways[0] ?? "recovery_code");
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const left = useCountdown(failure);
  const field = useRef<HTMLInputElement>(null);

  async function finish(sent: Promise<{ failure?: Failure | undefined }>) {
    setSending(true);
    setFailure(null);
    const { failure: refusal } = await sent;
    setSending(false);
    if (!refusal) return onDone();
    if (refusal.code === "invalid_mfa_token") return onStartAgain(failureSentence(refusal));
    setFailure(refusal);
    field.current?.select();
  }

  function sendCode(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isSending || left > 0) return;
    const code = String(new FormData(event.currentTarget).get("code")).trim();
    void finish(call<SignInReply>("POST", "/auth/mfa/verify", { mfaToken, code, session: "cookie" }));
  }

  const isLimited = failure?.code === "rate_limited";
  const sentence =
    failure === null
      ? null
      : isLimited
        ? `Too many attempts. Try again in ${waiting(left)}.`
        : failureSentence(failure);
  return (
    <div className={styles.form}>
      <Problem>{isLimited && left === 0 ? null : sentence}</Problem>
      <FactorField
        way={way}
        left={left}
        isSending={isSending}
        sendCode={sendCode}
        field={field}
        finish={finish}
        mfaToken={mfaToken}
      />
      <div className={styles.links}>
        {ways
          .filter((other) => other !== way)
          .map((other) => (
            <button
              type="button"
              data-weight="link"
              key={other}
              onClick={() => {
                setWay(other);
                setFailure(null);
              }}
            >
              {names[other]}
            </button>
          ))}
        <button type="button" data-weight="link" onClick={() => onStartAgain("")}>
          Start again
        </button>
      </div>
    </div>
  );
}

function FactorField({
  way,
  left,
  isSending,
  sendCode,
  field,
  finish,
  mfaToken,
}: {
  way: Way;
  left: number;
  isSending: boolean;
  sendCode(event: FormEvent<HTMLFormElement>): void;
  field: RefObject<HTMLInputElement | null>;
  finish(sent: Promise<{ failure?: Failure | undefined }>): Promise<void>;
  mfaToken: string;
}) {
  return way === "passkey" ? (
    <>
      <p className={styles.hint}>Your device asks for your fingerprint, face or PIN, or for your security key.</p>
      <button
        type="button"
        data-weight="primary"
        disabled={isSending}
        onClick={() => void finish(provePasskey<SignInReply>({ mfaToken }))}
      >
        {isSending ? "Waiting for your device …" : "Use a passkey"}
      </button>
    </>
  ) : (
    <form className={styles.form} onSubmit={sendCode} key={way}>
      <div className={styles.field}>
        <label htmlFor="code">{way === "totp" ? "Code from your app" : "Recovery code"}</label>
        <input
          ref={field}
          id="code"
          name="code"
          className={way === "totp" ? styles.code : undefined}
          inputMode={way === "totp" ? "numeric" : "text"}
          autoComplete={way === "totp" ? "one-time-code" : "off"}
          maxLength={64}
          required
          spellCheck={false}
          aria-describedby="code-hint"
        />
        <p id="code-hint" className={styles.hint}>
          {way === "totp"
            ? "Six digits that change every 30 seconds."
            : "One of the codes that you stored; each works once."}
        </p>
      </div>
      <button type="submit" data-weight="primary" disabled={isSending || left > 0}>
        {isSending ? "Checking …" : left > 0 ? `Wait ${left} s` : "Continue"}
      </button>
    </form>
  );
}
