import { randomBytes } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import type { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { callContext } from "@muster/rpc";
import { toDataURL } from "qrcode";
import { appliedEverywhere } from "../events/applied-everywhere.ts";
import { personEvent } from "../events/audit.ts";
import { userChanged } from "../events/auth.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { principalCaller, principalMessage } from "../rules/principal.ts";
import { newRecoveryCodes, recoveryCodeHash } from "../rules/recovery-codes.ts";
import { totpEnrollment } from "../rules/totp.ts";
import { totpPlace, tryFactor, useCode, useTotp } from "../second-factor.ts";
import { familyPlace, newFamily, tokenPair } from "../session-families.ts";
import {
  completeChallenge,
  confirmTotp,
  findChallenge,
  findTotp,
  putPendingTotp,
  removeTotp,
} from "../store/factors.ts";
import { findOwnPassword, findPrincipal, type PrincipalRow } from "../store/people.ts";
import { stepUpSession } from "../store/sessions.ts";
import type { SessionDeps } from "./session.ts";

/** Bytes of a TOTP secret: as many as HMAC-SHA-1 gives out (RFC 4226, section 4). */
const secretBytes = 20;

/** Second factors (01-conventions, "Sessions", /auth/mfa). */
export function mfaService(deps: SessionDeps): ServiceImpl<typeof MfaService> {
  return {
    verifyMfa: ({ mfaToken, code }, handler) => {
      const context = callContext(handler);
      return mfaToken === "" ? stepUp(deps, context, code) : completeLogin(deps, context, mfaToken, code);
    },
    setupTotp: ({ password }, handler) => setupTotp(deps, callContext(handler), password),
    enableTotp: ({ code }, handler) => enableTotp(deps, callContext(handler), code),
    disableTotp: ({ password, code }, handler) => disableTotp(deps, callContext(handler), password, code),
  };
}

async function completeLogin(deps: SessionDeps, context: CallContext, mfaToken: string, code: string) {
  const now = deps.now();
  const challenge = await findChallenge(deps.db, tokenHash(mfaToken));
  if (!challenge || challenge.used_at || challenge.expires_at <= now) throw invalidMfaToken();
  const principal = await findPrincipal(deps.db, challenge.user_id);
  if (principal?.status !== "active") throw invalidMfaToken();
  const family = newFamily(deps, context, principal, { mfaAt: now });
  const who = { ...context, caller: principalCaller(principal) };
  await tryFactor(deps, who, principal, { refusal: invalidCode(), challengeId: challenge.id }, async (tx) => {
    if (!(await useCode(tx, deps, principal.user_id, code))) return null;
    // Thrown, so that the code is not used up by a token that no longer counts.
    if (!(await completeChallenge(tx, challenge.id, now))) throw invalidMfaToken();
    await family.store(tx);
    return true;
  });
  return family.signedIn();
}

/**
 * Notes a second factor in the caller's session. The reply has a new access token and the refresh token that is current:
 * a rotation here would sign out a client that loses the reply.
 */
async function stepUp(deps: SessionDeps, context: CallContext, code: string) {
  const { principal, sessionId } = await signedIn(deps, context);
  if (!principal.mfa_enabled) throw notEnabled();
  const now = deps.now();
  const changed = userChanged(principal.user_id, principal.version);
  const session = await tryFactor(deps, context, principal, { refusal: invalidCode() }, async (tx) => {
    if (!(await useCode(tx, deps, principal.user_id, code))) return null;
    const stepped = await stepUpSession(tx, sessionId, principal.user_id, now);
    if (!stepped) throw new AppError("session_revoked", "Session has ended");
    tx.emit(changed);
    tx.emit(personEvent(context, principal, { action: "user.mfa.verify" }, now));
    return stepped;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  const secret = deps.box.open(session.family_secret, familyPlace(sessionId));
  const { generation, expires_at: expiresAt } = session;
  return {
    principal: principalMessage(principal, { id: sessionId, mfaAt: now, expiresAt }),
    tokens: await tokenPair(deps, principal, { id: sessionId, mfaAt: now, generation, secret }),
  };
}

async function setupTotp(deps: SessionDeps, context: CallContext, password: string) {
  const { principal } = await signedIn(deps, context);
  if (principal.mfa_enabled) throw alreadyEnabled();
  const matches = await deps.passwords.verify(password, await findOwnPassword(deps.db, context), context);
  const secret = randomBytes(secretBytes);
  await tryFactor(deps, context, principal, { refusal: invalidPassword() }, async (tx) => {
    if (!matches) return null;
    const now = deps.now();
    const sealed = deps.totpBox.seal(secret, totpPlace(principal.user_id));
    if (!(await putPendingTotp(tx, principal.user_id, sealed, now))) throw alreadyEnabled();
    tx.emit(personEvent(context, principal, { action: "user.mfa.setup" }, now));
    return true;
  });
  const enrollment = totpEnrollment(secret, principal.email);
  return { ...enrollment, qrCodeDataUrl: await toDataURL(enrollment.otpauthUrl) };
}

async function enableTotp(deps: SessionDeps, context: CallContext, code: string) {
  const { principal, sessionId } = await signedIn(deps, context);
  if (principal.mfa_enabled) throw alreadyEnabled();
  const recoveryCodes = newRecoveryCodes();
  const changed = await tryFactor(deps, context, principal, { refusal: invalidCode() }, async (tx) => {
    const now = deps.now();
    const totp = await findTotp(tx, principal.user_id);
    if (!totp) throw new AppError("mfa_not_enabled", "No enrollment has begun");
    if (totp.confirmed_at) throw alreadyEnabled();
    if (!(await useTotp(tx, deps, principal.user_id, totp.secret, code))) return null;
    const version = await confirmTotp(tx, principal.user_id, recoveryCodes.map(recoveryCodeHash), now);
    if (!(await stepUpSession(tx, sessionId, principal.user_id, now))) {
      throw new AppError("session_revoked", "Session has ended");
    }
    const message = userChanged(principal.user_id, version);
    tx.emit(message);
    tx.emit(personEvent(context, principal, { action: "user.mfa.enable" }, now));
    return message;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  return { recoveryCodes };
}

async function disableTotp(deps: SessionDeps, context: CallContext, password: string, code: string) {
  const { principal } = await signedIn(deps, context);
  if (!principal.mfa_enabled) throw notEnabled();
  const matches = await deps.passwords.verify(password, await findOwnPassword(deps.db, context), context);
  const refusal = matches ? invalidCode() : invalidPassword();
  const changed = await tryFactor(deps, context, principal, { refusal }, async (tx) => {
    if (!matches || !(await useCode(tx, deps, principal.user_id, code))) return null;
    const now = deps.now();
    const message = userChanged(principal.user_id, await removeTotp(tx, principal.user_id, now));
    tx.emit(message);
    tx.emit(personEvent(context, principal, { action: "user.mfa.disable" }, now));
    return message;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  return {};
}

async function signedIn(
  deps: SessionDeps,
  { caller }: CallContext,
): Promise<{ principal: PrincipalRow; sessionId: string }> {
  const { sessionId, actor } = caller;
  if (!sessionId || actor.type !== "user") {
    throw new AppError("user_session_required", "A user session is required");
  }
  const principal = await findPrincipal(deps.db, actor.id);
  if (principal?.status !== "active") throw new AppError("session_revoked", "Session has ended");
  return { principal, sessionId };
}

const invalidMfaToken = () => new AppError("invalid_mfa_token", "Invalid or expired MFA token");
const invalidCode = () => new AppError("invalid_mfa_code", "Invalid code");
const invalidPassword = () => new AppError("invalid_credentials", "Invalid password");
const alreadyEnabled = () => new AppError("mfa_already_enabled", "A second factor is already enabled");
const notEnabled = () => new AppError("mfa_not_enabled", "No second factor is enabled");
