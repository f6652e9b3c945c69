import type { Tx } from "@muster/db";
import { AppError, uuidv7 } from "@muster/kit";
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { PasskeyDeps } from "../deps.ts";
import type { ProofOf } from "../rules/factors.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import {
  findCredential,
  findPasskeys,
  insertPasskeyChallenge,
  type NewPasskey,
  type PasskeyPurpose,
  type PasskeyRow,
  recordPasskeyUse,
  takePasskeyChallenge,
} from "../store/passkeys.ts";

// Loaded with the first passkey: its parsers of certificates are 3 MB.
const webauthn = () => import("@simplewebauthn/server");

/** Life of a challenge, as long as an mfaToken's. */
const challengeMs = 5 * 60_000;
const passkeysMax = 20;
const rpName = "Muster";

/** Options for creating a passkey, as JSON text; their challenge is stored. Throws `limit_reached`. */
export async function registrationOptions(
  deps: PasskeyDeps,
  tx: Tx,
  principal: PrincipalRow,
  about: ProofOf,
): Promise<string> {
  const registered = await findPasskeys(tx, principal.user_id);
  if (registered.length >= passkeysMax) {
    throw new AppError("limit_reached", "Too many passkeys", { facts: { limit: passkeysMax } });
  }
  const { generateRegistrationOptions } = await webauthn();
  const options = await generateRegistrationOptions({
    rpName,
    rpID: deps.relyingParty.id,
    // Not the e-mail: it may change, and an authenticator shows this id to anyone who holds it.
    userID: Uint8Array.from(Buffer.from(principal.user_id.replaceAll("-", ""), "hex")),
    userName: principal.email,
    userDisplayName: principal.name,
    timeout: challengeMs,
    attestationType: "none",
    excludeCredentials: registered.map(descriptor),
    authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
  });
  await remember(deps, tx, principal.user_id, "register", about, options.challenge);
  return JSON.stringify(options);
}

/**
 * Options for using one of the user's passkeys, as JSON text; their challenge is stored. Throws `mfa_not_enabled`.
 */
export async function authenticationOptions(
  deps: PasskeyDeps,
  tx: Tx,
  principal: PrincipalRow,
  about: ProofOf,
): Promise<string> {
  const registered = await findPasskeys(tx, principal.user_id);
  if (registered.length === 0) throw new AppError("mfa_not_enabled", "No passkey is registered");
  const { generateAuthenticationOptions } = await webauthn();
  const options = await generateAuthenticationOptions({
    rpID: deps.relyingParty.id,
    allowCredentials: registered.map(descriptor),
    userVerification: "required",
    timeout: challengeMs,
  });
  await remember(deps, tx, principal.user_id, "authenticate", about, options.challenge);
  return JSON.stringify(options);
}

/**
 * The verified registration of an authenticator; null when it does not match the request. Consumes the challenge in
 * either case.
 */
export async function verifiedPasskey(
  deps: PasskeyDeps,
  tx: Tx,
  principal: PrincipalRow,
  about: ProofOf,
  credentialJson: string,
): Promise<Omit<NewPasskey, "name"> | null> {
  const wanted = { purpose: "register" as const, about };
  const answer = await takeAnswer<RegistrationResponseJSON>(deps, tx, principal, wanted, credentialJson);
  if (!answer) return null;
  const { verifyRegistrationResponse } = await webauthn();
  const verified = await verifyRegistrationResponse(answer).catch(refusedByLibrary);
  if (!verified?.verified) return null;
  const { credential, aaguid, credentialDeviceType, credentialBackedUp } = verified.registrationInfo;
  const now = deps.now();
  return {
    id: uuidv7(now.getTime()),
    userId: principal.user_id,
    credentialId: Buffer.from(credential.id, "base64url"),
    publicKey: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: (credential.transports ?? []).map(String).slice(0, 8),
    aaguid: aaguid || "00000000-0000-0000-0000-000000000000",
    multiDevice: credentialDeviceType === "multiDevice",
    backedUp: credentialBackedUp,
    now,
  };
}

/** Whether a passkey of the user signed the challenge; its use is noted, the challenge is used up either way. */
export async function usePasskey(
  deps: PasskeyDeps,
  tx: Tx,
  principal: PrincipalRow,
  about: ProofOf,
  credentialJson: string,
): Promise<boolean> {
  const wanted = { purpose: "authenticate" as const, about };
  const answer = await takeAnswer<AuthenticationResponseJSON>(deps, tx, principal, wanted, credentialJson);
  const id = Buffer.from(String(answer?.response.id), "base64url");
  const passkey = answer && (await findCredential(tx, principal.user_id, id));
  if (!passkey) return false;
  const { verifyAuthenticationResponse } = await webauthn();
  const verified = await verifyAuthenticationResponse({
    ...answer,
    credential: {
      ...descriptor(passkey),
      publicKey: Uint8Array.from(passkey.public_key),
      // A counter that does not grow is refused by the library: a copy of the authenticator may be about.
      counter: passkey.counter,
    },
  }).catch(refusedByLibrary);
  if (!verified?.verified) return false;
  const { newCounter, credentialBackedUp } = verified.authenticationInfo;
  await recordPasskeyUse(tx, passkey.id, { counter: newCounter, backedUp: credentialBackedUp }, deps.now());
  return true;
}

/** The library throws on whatever does not fit, malformed input included: none of it is an error of ours. */
const refusedByLibrary = (): null => null;

const descriptor = ({ credential_id, transports }: PasskeyRow) => ({
  id: credential_id.toString("base64url"),
  transports: transports as AuthenticatorTransport[],
});

async function remember(
  deps: PasskeyDeps,
  tx: Tx,
  userId: string,
  purpose: PasskeyPurpose,
  about: ProofOf,
  challenge: string,
): Promise<void> {
  const now = deps.now();
  const expiresAt = new Date(now.getTime() + challengeMs);
  await insertPasskeyChallenge(tx, { hash: tokenHash(challenge), userId, purpose, about, now, expiresAt });
}

/** A browser's answer and the values to verify it against; consumes the challenge. Null for an unsolicited answer. */
async function takeAnswer<T extends RegistrationResponseJSON | AuthenticationResponseJSON>(
  { relyingParty, now }: PasskeyDeps,
  tx: Tx,
  principal: PrincipalRow,
  wanted: { purpose: PasskeyPurpose; about: ProofOf },
  credentialJson: string,
) {
  const response = parsed<T>(credentialJson);
  const challenge = response && challengeOf(response.response?.clientDataJSON);
  if (!response || !challenge) return null;
  const taken = { ...wanted, hash: tokenHash(challenge), userId: principal.user_id, now: now() };
  if (!(await takePasskeyChallenge(tx, taken))) return null;
  return {
    response,
    expectedChallenge: challenge,
    expectedOrigin: [...relyingParty.origins],
    expectedRPID: relyingParty.id,
    requireUserVerification: true,
  };
}

function parsed<T extends object>(json: string): T | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}

/** The challenge that the browser claims was signed; the signature is verified with it. */
function challengeOf(clientDataJson: unknown): string | null {
  if (typeof clientDataJson !== "string") return null;
  const challenge = parsed<{ challenge?: unknown }>(Buffer.from(clientDataJson, "base64url").toString())?.challenge;
  return typeof challenge === "string" ? challenge : null;
}
