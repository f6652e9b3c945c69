import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { FailureState, Said } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { useWrite } from "../../parts/use-write.ts";

type Waiting = { clientName: string; ipAddress: string | null; createdAt: string; expiresAt: string };
type Found = { userCode: string; client: Waiting };
type Step = { at: "code" } | ({ at: "question" } & Found) | { at: "approved" | "denied"; clientName: string };

/** Where a command line sends its user: enters its code, shows who asks, and asks whether the user started it. */
export function Activate() {
  const [step, setStep] = useState<Step>({ at: "code" });
  return (
    <>
      <PageTitle title="Sign in a command line" />
      {step.at === "code" ? <EnterCode onFound={(found) => setStep({ at: "question", ...found })} /> : null}
      {step.at === "question" ? (
        <Question
          found={step}
          onDone={(at) => setStep({ at, clientName: step.client.clientName })}
          onBack={() => setStep({ at: "code" })}
        />
      ) : null}
      {step.at === "approved" ? (
        <Said>{step.clientName} is signed in. You can close this page; your profile lists the session.</Said>
      ) : null}
      {step.at === "denied" ? (
        <Said>{step.clientName} was refused. If somebody sent you the code, tell your administrator.</Said>
      ) : null}
    </>
  );
}

function EnterCode({ onFound }: { onFound(found: Found): void }) {
  const write = useWrite();
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const userCode = String(new FormData(event.currentTarget).get("code")).trim();
    const client = await write.run(() => dataOf(api.POST("/api/v1/auth/device/lookup", { body: { userCode } })));
    if (client !== null) onFound({ userCode, client });
  }
  return (
    <Section title="Enter the code">
      <form className={forms.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field
          label="Code that the command line shows"
          hint="Eight letters. Enter only a code that you asked for yourself."
          errors={write.errorsOf("userCode")}
        >
          <input
            name="code"
            required
            maxLength={64}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
          />
        </Field>
        <div>
          <button type="submit" data-weight="primary" disabled={write.isRunning}>
            {write.isRunning ? "Looking …" : "Continue"}
          </button>
        </div>
      </form>
    </Section>
  );
}

type QuestionProps = { found: Found; onDone(what: "approved" | "denied"): void; onBack(): void };

function Question({ found: { userCode, client }, onDone, onBack }: QuestionProps) {
  const me = useMe();
  const write = useWrite();
  const decide = async (what: "approved" | "denied") => {
    const init = { body: { userCode } };
    const decided = await write.run(() =>
      dataOf(
        what === "approved"
          ? api.POST("/api/v1/auth/device/approve", init)
          : api.POST("/api/v1/auth/device/deny", init),
      ),
    );
    if (decided !== null) onDone(what);
  };
  const isGone = write.failure?.code === "invalid_user_code";
  return (
    <Section title="Did you start this?">
      {write.failure ? <FailureState failure={write.failure} /> : null}
      <Facts
        of={[
          ["Client", client.clientName],
          ["Address", client.ipAddress],
          ["Time", <Instant key="time" at={client.createdAt} />],
          ["Signs in as", me.email],
        ]}
      />
      <p>It will be able to do all that you can do. If you did not start it yourself just now, refuse it.</p>
      {isGone ? (
        <button type="button" onClick={onBack}>
          Enter another code
        </button>
      ) : (
        <div className={forms.inline}>
          <button
            type="button"
            data-weight="primary"
            disabled={write.isRunning}
            onClick={() => void decide("approved")}
          >
            Yes, sign it in
          </button>
          <button type="button" disabled={write.isRunning} onClick={() => void decide("denied")}>
            No, refuse it
          </button>
        </div>
      )}
    </Section>
  );
}
