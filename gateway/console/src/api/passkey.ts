import { call, type Failure, type Outcome } from "./call.ts";

/** Whether this page can use passkeys: not over plain http beyond localhost, nor in old browsers. */
export const canUsePasskeys = () =>
  typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";

const cancelled: Failure = {
  status: 0,
  code: "passkey_cancelled",
  error: "The passkey was not used",
  requestId: "",
  retryAfterSeconds: null,
};

/**
 * Asks for a passkey and sends what the browser signed: completes the sign-in of `mfaToken`, or steps the session of
 * `accessToken` up.
 */
export async function provePasskey<T>(with_: { mfaToken?: string; accessToken?: string }): Promise<Outcome<T>> {
  const { mfaToken, accessToken } = with_;
  const path = "/auth/mfa/passkeys/authenticate";
  const options = await call<PublicKeyCredentialRequestOptionsJSON>(
    "POST",
    `${path}/options`,
    { mfaToken },
    accessToken,
  );
  if (options.failure) return options;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.data);
  // Cancelled, timed out, or no passkey here: browsers do not say which.
  const made = await navigator.credentials.get({ publicKey }).catch(() => null);
  if (!(made instanceof PublicKeyCredential)) return { failure: cancelled };
  return call<T>("POST", `${path}/verify`, { mfaToken, credential: made.toJSON(), session: "cookie" }, accessToken);
}

/** Makes a passkey for the session's user. */
export async function makePasskey<T>(accessToken: string, password: string, name: string): Promise<Outcome<T>> {
  const path = "/auth/mfa/passkeys/register";
  const options = await call<PublicKeyCredentialCreationOptionsJSON>(
    "POST",
    `${path}/options`,
    { password },
    accessToken,
  );
  if (options.failure) return options;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.data);
  const made = await navigator.credentials.create({ publicKey }).catch(() => null);
  if (!(made instanceof PublicKeyCredential)) return { failure: cancelled };
  const more = name === "" ? {} : { name };
  return call<T>("POST", `${path}/verify`, { credential: made.toJSON(), ...more }, accessToken);
}
