import { useEffect, useState } from "react";
import { call, type Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { Frame, Problem } from "./frame.tsx";
import { NewPasswordForm } from "./new-password-form.tsx";
import styles from "./sign-in.module.css";
import { useSignInContext } from "./use-sign-in-context.ts";

type Described = { email: string; invitedBy: string | null; partner: string | null; organization: string | null };

/** Sets name and password of an invited user, who sees first whose invitation it is. */
export function Invitation({ token }: { token: string }) {
  const { branding } = useSignInContext(null);
  const [described, setDescribed] = useState<Described | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    if (token === "") return;
    // Without an answer the page works without it; a link that has ended is said before a password is chosen.
    void call<Described>("POST", "/auth/invitation", { token }).then(({ data, failure: refusal }) => {
      setDescribed(data ?? null);
      if (refusal?.code === "invalid_token" || refusal?.code === "sso_required") setFailure(refusal);
    });
  }, [token]);
  if (token === "" || failure) {
    return (
      <Frame title="Accept your invitation" branding={branding}>
        <Problem>
          {failure
            ? failureSentence(failure)
            : "This address has no invitation in it. Open the link of the mail once more."}
        </Problem>
        <a href="/login">Back to sign-in</a>
      </Frame>
    );
  }
  return (
    <Frame title="Accept your invitation" branding={branding}>
      {described ? <Whose of={described} /> : null}
      <NewPasswordForm
        action="Create account"
        onSend={async (form, password) => {
          const name = String(form.get("name")).trim();
          const more = name === "" ? {} : { name };
          const { failure: refusal } = await call("POST", "/auth/accept-invite", { token, password, ...more });
          if (!refusal) location.replace("/login?note=invitation-accepted");
          return refusal ?? null;
        }}
      >
        <div className={styles.field}>
          <label htmlFor="name">Your name</label>
          <input id="name" name="name" autoComplete="name" maxLength={255} aria-describedby="name-hint" />
          <p id="name-hint" className={styles.hint}>
            Left empty, the name of the invitation stays.
          </p>
        </div>
      </NewPasswordForm>
    </Frame>
  );
}

/** Who invites whom to which organization or partner. */
function Whose({ of: { email, invitedBy, partner, organization } }: { of: Described }) {
  const tenant = organization ?? partner;
  return (
    <p>
      {invitedBy ?? "An administrator"} invites {email} to{" "}
      {tenant ? <strong>{tenant}</strong> : "administer this platform"}
      {organization && partner ? `, a customer of ${partner}` : ""}.
    </p>
  );
}
