import { call } from "../api/call.ts";
import { Frame, Problem } from "./frame.tsx";
import { NewPasswordForm } from "./new-password-form.tsx";
import styles from "./sign-in.module.css";
import { useSignInContext } from "./use-sign-in-context.ts";

/** Sets name and password of an invited user. */
export function Invitation({ token }: { token: string }) {
  const { branding } = useSignInContext(null);
  if (token === "") {
    return (
      <Frame title="Accept your invitation" branding={branding}>
        <Problem>This address has no invitation in it. Open the link of the mail once more.</Problem>
        <a href="/login">Back to sign-in</a>
      </Frame>
    );
  }
  return (
    <Frame title="Accept your invitation" branding={branding}>
      <NewPasswordForm
        action="Create account"
        onSend={async (form, password) => {
          const name = String(form.get("name")).trim();
          const more = name === "" ? {} : { name };
          const { failure } = await call("POST", "/auth/accept-invite", { token, password, ...more });
          if (!failure) location.replace("/login?note=invitation-accepted");
          return failure ?? null;
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
