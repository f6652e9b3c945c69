import type { Tx } from "@muster/db";
import { AppError, type CallContext, sessionEnded } from "@muster/kit";
import { requireMfa } from "@muster/service";
import type { FactorDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import { originOf } from "../emits/mail-queue.ts";
import { hasFactor, type ProofOf } from "../rules/factors.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { mayUsePassword } from "../rules/password-sign-in.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { principalCaller, principalMessage } from "../rules/principal.ts";
import { newRecoveryCodes, recoveryCodeHash } from "../rules/recovery-codes.ts";
import { completeChallenge, factorAdded, findChallenge, findFactors } from "../store/factors.ts";
import { findPrincipal } from "../store/principals.ts";
import { familyLocation } from "../store/sealed-columns.ts";
import { stepUpSession } from "../store/sessions.ts";
import { tryFactor } from "./second-factor.ts";
import { newFamily, tokenPair } from "./session-families.ts";

/**
 * Verification of a factor: the refusal for a wrong proof, and the check, which consumes the proof in the given
 * transaction.
 */
export type Proof = {
  factor: "code" | "passkey";
  refusal: AppError;
  isRight(tx: Tx, user: PrincipalRow, about: ProofOf): Promise<boolean>;
};

/** Ends a sign-in with its second factor. Throws `invalid_mfa_token`, `rate_limited`, or the proof's refusal. */
export async function completeLogin(deps: FactorDeps, context: CallContext, mfaToken: string, proof: Proof) {
  const now = deps.now();
  const { principal, challengeId } = await waitingSignIn(deps, mfaToken);
  const family = newFamily(deps, context, principal, { mfaAt: now });
  const who = { ...context, caller: principalCaller(principal) };
  await tryFactor(deps, who, principal, { refusal: proof.refusal, challengeId }, async (tx) => {
    if (!(await proof.isRight(tx, principal, { mfaChallengeId: challengeId }))) return null;
    // Thrown, so that the factor is not used up by a token that no longer counts.
    if (!(await completeChallenge(tx, challengeId, now))) throw invalidMfaToken();
    await family.store(tx);
    return true;
  });
  return family.signedIn();
}

/** The user behind an mfaToken that still counts. Throws `invalid_mfa_token`. */
export async function waitingSignIn(
  deps: Pick<FactorDeps, "db" | "now">,
  mfaToken: string,
): Promise<{ principal: PrincipalRow; challengeId: string }> {
  const challenge = await findChallenge(deps.db, tokenHash(mfaToken));
  if (!challenge || challenge.used_at || challenge.expires_at <= deps.now()) throw invalidMfaToken();
  const principal = await findPrincipal(deps.db, challenge.user_id);
  if (!mayUsePassword(principal)) throw invalidMfaToken();
  return { principal, challengeId: challenge.id };
}

/**
 * Notes a second factor in the caller's session. The reply has a new access token and the refresh token that is
 * current: a rotation here would sign out a client that loses the reply.
 */
export async function stepUp(deps: FactorDeps, context: CallContext, proof: Proof) {
  const { principal, sessionId } = await signedInUser(deps, context);
  if (!principal.mfa_enabled) throw notEnabled();
  const now = deps.now();
  const changed = userChanged(principal.user_id, principal.version);
  const session = await tryFactor(deps, context, principal, { refusal: proof.refusal }, async (tx) => {
    if (!(await proof.isRight(tx, principal, { sessionId }))) return null;
    const stepped = await stepUpSession(tx, sessionId, principal.user_id, now);
    if (!stepped) throw sessionEnded();
    tx.emit(changed);
    const details = { factor: proof.factor };
    tx.emit(userEvent(context, principal, { action: "user.mfa.verify", details }, now));
    return stepped;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  const secret = deps.box.open(session.family_secret, familyLocation(sessionId));
  const { generation, expires_at: expiresAt } = session;
  return {
    principal: principalMessage(principal, { id: sessionId, mfaAt: now, expiresAt }),
    tokens: await tokenPair(deps, principal, { id: sessionId, mfaAt: now, generation, secret }),
  };
}

/**
 * What every new factor brings, in the transaction that stores it: recovery codes with the first one, a completed
 * challenge of this session, audit row and mail. Returns the codes (none when there was a factor before) and the
 * message to wait for.
 */
export async function enrolled(
  deps: FactorDeps,
  tx: Tx,
  context: CallContext,
  { principal, sessionId }: { principal: PrincipalRow; sessionId: string },
  added: { factor: "totp" | "passkey"; action: string; details?: Record<string, unknown>; isFirst: boolean },
): Promise<{ recoveryCodes: string[]; msgId: string }> {
  const now = deps.now();
  const recoveryCodes = added.isFirst ? newRecoveryCodes() : [];
  const hashes = added.isFirst ? recoveryCodes.map(recoveryCodeHash) : null;
  const version = await factorAdded(tx, principal.user_id, hashes, now);
  if (!(await stepUpSession(tx, sessionId, principal.user_id, now))) {
    throw sessionEnded();
  }
  const message = userChanged(principal.user_id, version);
  tx.emit(message);
  const { action, details = {} } = added;
  tx.emit(userEvent(context, principal, { action, details }, now));
  if (added.isFirst && action !== "user.mfa.enable") {
    tx.emit(userEvent(context, principal, { action: "user.mfa.enable", details: { factor: added.factor } }, now));
  }
  const to = { email: principal.email, name: principal.name };
  await deps.mail.queue(
    tx,
    { kind: "factor_added", to, factor: added.factor, at: now, from: originOf(context.meta) },
    principal,
    now,
  );
  return { recoveryCodes, msgId: message.msgId };
}

/** Whether the user has no factor yet; call under lockUserFactors. */
export const isFirstFactor = async (tx: Tx, userId: string) => !hasFactor(await findFactors(tx, userId));

/** The caller as a user with a session. Throws `user_session_required`, `session_revoked`. */
export async function signedInUser(
  deps: Pick<FactorDeps, "db">,
  { caller }: CallContext,
): Promise<{ principal: PrincipalRow; sessionId: string }> {
  const { sessionId, actor } = caller;
  if (!sessionId || actor.type !== "user") {
    throw new AppError("user_session_required", "A user session is required");
  }
  const principal = await findPrincipal(deps.db, actor.id);
  if (principal?.status !== "active") throw sessionEnded();
  return { principal, sessionId };
}

/** A user with a factor must have completed it to change factors: a password alone adds none. Throws `mfa_required`. */
export function requireOwnFactor(deps: FactorDeps, context: CallContext, principal: PrincipalRow): void {
  if (principal.mfa_enabled) requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
}

export const invalidMfaToken = () => new AppError("invalid_mfa_token", "Invalid or expired MFA token");
export const invalidPassword = () => new AppError("invalid_credentials", "Invalid password");
export const notEnabled = () => new AppError("mfa_not_enabled", "No second factor is enabled");
