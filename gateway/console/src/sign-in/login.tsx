import { useEffect, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { noteSession } from "../api/signed-in-mark.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { attemptIn, ssoReasonSentence } from "../rules/sso-reasons.ts";
import { AttemptId, Frame, Note, Problem } from "./frame.tsx";
import { PasswordForm, type SignInReply } from "./password-form.tsx";
import { SecondFactor } from "./second-factor.tsx";
import styles from "./sign-in.module.css";
import { type Arrival, startSso } from "./sso-arrival.ts";
import { SsoByEmail } from "./sso-by-email.tsx";
import { useSignInContext } from "./use-sign-in-context.ts";

type Step = { at: "password" } | { at: "factor"; mfaToken: string; methods: string[] } | { at: "done" };

/** Sentences for the reasons of a redirect to this page. */
const arrivals: Readonly<Record<string, string>> = {
  "password-set": "Your password is set. Sign in with it.",
  "invitation-accepted": "Your account is ready. Sign in with your password.",
  "signed-out": "You are signed out.",
  "session-ended": "Your session has ended. Sign in to go on.",
};

/** Sign-in: password, second factor, an identity provider's button, and the result of a provider's redirect. */
export function Login({ arrival: { ssoCode, wasStartedHere, next } }: { arrival: Arrival }) {
  const parameters = new URLSearchParams(location.search);
  const [step, setStep] = useState<Step>({ at: "password" });
  const [isExchanging, setExchanging] = useState(ssoCode !== "" && wasStartedHere);
  const [problem, setProblem] = useState<string | null>(() => {
    if (ssoCode !== "" && !wasStartedHere) return "This sign-in was started in another tab. Start again here.";
    return parameters.get("error") === "sso_error" ? ssoReasonSentence(parameters.get("reason") ?? "") : null;
  });
  const context = useSignInContext(parameters.get("org"));
  const [isPasswordShown, showPassword] = useState(false);
  const note = arrivals[parameters.get("note") ?? ""];

  const done = () => {
    noteSession();
    setStep({ at: "done" });
    location.replace(next);
  };
  const failed = (failure: Failure) => setProblem(failureSentence(failure));

  // biome-ignore lint/correctness/useExhaustiveDependencies: the code of this visit, once
  useEffect(() => {
    if (!isExchanging) return;
    let isFirst = true;
    void call<SignInReply>("POST", "/sso/exchange", { code: ssoCode, session: "cookie" }).then(({ failure }) => {
      if (!isFirst) return;
      if (failure === undefined) return done();
      setExchanging(false);
      failed(failure);
    });
    return () => {
      isFirst = false;
    };
  }, []);

  if (isExchanging || step.at === "done") {
    return (
      <Frame title="Signing in" branding={context.branding}>
        <p role="status">One moment …</p>
      </Frame>
    );
  }
  if (step.at === "factor") {
    return (
      <Frame title="Second factor" branding={context.branding}>
        <SecondFactor
          mfaToken={step.mfaToken}
          methods={step.methods}
          onDone={done}
          onStartAgain={(sentence) => {
            setProblem(sentence);
            setStep({ at: "password" });
          }}
        />
      </Frame>
    );
  }
  const { sso } = context;
  const isFolded = sso?.enforced === true && !isPasswordShown;
  return (
    <Frame title="Sign in" branding={context.branding}>
      {note && problem === null ? <Note>{note}</Note> : null}
      <Problem>{problem}</Problem>
      <AttemptId id={problem === null ? null : attemptIn(parameters)} />
      {sso ? (
        <button type="button" data-weight="primary" onClick={() => startSso(sso.loginUrl, next)}>
          Continue with {sso.name}
        </button>
      ) : null}
      <PasswordOrLink
        isFolded={isFolded}
        done={done}
        setStep={setStep}
        setProblem={setProblem}
        showPassword={showPassword}
        sso={sso}
      />
      {sso && !sso.isPartners ? null : <SsoByEmail next={next} />}
    </Frame>
  );
}

function PasswordOrLink({
  isFolded,
  done,
  setStep,
  setProblem,
  showPassword,
  sso,
}: {
  isFolded: boolean;
  done(): void;
  setStep(step: Step): void;
  setProblem(problem: string | null): void;
  showPassword(isShown: boolean): void;
  sso: ReturnType<typeof useSignInContext>["sso"];
}) {
  return isFolded ? (
    <>
      <p className={styles.hint}>Your organization signs in through {sso?.name}.</p>
      <button type="button" data-weight="link" onClick={() => showPassword(true)}>
        Use a password instead
      </button>
    </>
  ) : (
    <>
      {sso ? <div className={styles.or}>or</div> : null}
      <PasswordForm
        onProblem={setProblem}
        onReply={(reply) => {
          setProblem(null);
          if ("mfaRequired" in reply) setStep({ at: "factor", mfaToken: reply.mfaToken, methods: reply.methods });
          else done();
        }}
      />
    </>
  );
}
