import { randomBytes } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import type { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { callContext } from "@muster/rpc";
import { requireMfa } from "@muster/service";
import {
  completeLogin,
  enrolled,
  invalidPassword,
  isFirstFactor,
  notEnabled,
  type Proof,
  requireOwnFactor,
  signedInUser,
  stepUp,
} from "../commands/complete-factor.ts";
import { provesOwner } from "../commands/own-proof.ts";
import { tryFactor, useCode, useTotp } from "../commands/second-factor.ts";
import type { FactorDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import { originOf } from "../emits/mail-queue.ts";
import { newRecoveryCodes, recoveryCodeHash } from "../rules/recovery-codes.ts";
import { totpEnrollment } from "../rules/totp.ts";
import {
  confirmTotp,
  factorRemoved,
  findFactors,
  findTotp,
  lockUserFactors,
  putPendingTotp,
  removeTotp,
  replaceRecoveryCodes,
} from "../store/factors.ts";
import { totpLocation } from "../store/sealed-columns.ts";

/** Bytes of a TOTP secret: the output length of HMAC-SHA-1 (RFC 4226, section 4). */
const secretBytes = 20;

/** Second factors by code (docs/behaviour.md#sessions). */
export function mfaService(deps: FactorDeps): ServiceImpl<typeof MfaService> {
  return {
    verifyMfa: ({ mfaToken, code }, handler) => {
      const context = callContext(handler);
      const proof: Proof = {
        factor: "code",
        refusal: invalidCode(),
        isRight: (tx, user) => useCode(tx, deps, user.user_id, code),
      };
      return mfaToken === "" ? stepUp(deps, context, proof) : completeLogin(deps, context, mfaToken, proof);
    },
    setupTotp: ({ password }, handler) => setupTotp(deps, callContext(handler), password),
    enableTotp: ({ code }, handler) => enableTotp(deps, callContext(handler), code),
    disableTotp: ({ password, code }, handler) => disableTotp(deps, callContext(handler), password, code),

    async getFactors(_request, handler) {
      const context = callContext(handler);
      const { principal } = await signedInUser(deps, context);
      return deps.db.tx(context, (tx) => findFactors(tx, principal.user_id), { readOnly: true });
    },

    rotateRecoveryCodes: (_request, handler) => rotateRecoveryCodes(deps, callContext(handler)),
  };
}

async function setupTotp(deps: FactorDeps, context: CallContext, password: string) {
  const user = await signedInUser(deps, context);
  const { principal } = user;
  const userId = principal.user_id;
  const { totp } = await deps.db.tx(context, (tx) => findFactors(tx, userId), { readOnly: true });
  if (totp) throw alreadyEnabled();
  requireOwnFactor(deps, context, principal);
  const matches = await provesOwner(deps, context, user, password);
  const secret = randomBytes(secretBytes);
  await tryFactor(deps, context, principal, { refusal: invalidPassword() }, async (tx) => {
    if (!matches) return null;
    const now = deps.now();
    const sealed = deps.totpBox.seal(secret, totpLocation(userId));
    if (!(await putPendingTotp(tx, userId, sealed, now))) throw alreadyEnabled();
    tx.emit(userEvent(context, principal, { action: "user.mfa.setup" }, now));
    return true;
  });
  const { toDataURL } = await import("qrcode");
  const enrollment = totpEnrollment(secret, principal.email);
  return { ...enrollment, qrCodeDataUrl: await toDataURL(enrollment.otpauthUrl) };
}

async function enableTotp(deps: FactorDeps, context: CallContext, code: string) {
  const user = await signedInUser(deps, context);
  const { principal } = user;
  const userId = principal.user_id;
  const { recoveryCodes, msgId } = await tryFactor(deps, context, principal, { refusal: invalidCode() }, async (tx) => {
    const totp = await findTotp(tx, userId);
    if (totp?.confirmed_at) throw alreadyEnabled();
    if (!totp) throw new AppError("mfa_not_enabled", "No enrollment was started");
    requireOwnFactor(deps, context, principal);
    if (!(await useTotp(tx, deps, userId, totp.secret, code))) return null;
    const isFirst = await isFirstFactor(tx, userId);
    await confirmTotp(tx, userId, deps.now());
    const added = { factor: "totp" as const, action: "user.mfa.enable", details: { factor: "totp" }, isFirst };
    return enrolled(deps, tx, context, user, added);
  });
  await appliedEverywhere(deps.db, [msgId]);
  return { recoveryCodes };
}

async function disableTotp(deps: FactorDeps, context: CallContext, password: string, code: string) {
  const user = await signedInUser(deps, context);
  const { principal } = user;
  const userId = principal.user_id;
  const { totp } = await deps.db.tx(context, (tx) => findFactors(tx, userId), { readOnly: true });
  if (!totp) throw notEnabled();
  const matches = await provesOwner(deps, context, user, password);
  const refusal = matches ? invalidCode() : invalidPassword();
  const changed = await tryFactor(deps, context, principal, { refusal }, async (tx) => {
    if (!matches || !(await useCode(tx, deps, userId, code))) return null;
    const now = deps.now();
    await removeTotp(tx, userId);
    const message = userChanged(userId, (await factorRemoved(tx, userId, now)).version);
    tx.emit(message);
    const details = { factor: "totp" };
    tx.emit(userEvent(context, principal, { action: "user.mfa.disable", details }, now));
    return message;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  return {};
}

/** A user who has completed a factor in this session gets new codes; earlier ones become invalid. */
async function rotateRecoveryCodes(deps: FactorDeps, context: CallContext) {
  const { principal } = await signedInUser(deps, context);
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
  const recoveryCodes = newRecoveryCodes();
  await deps.db.tx(context, async (tx) => {
    const now = deps.now();
    await lockUserFactors(tx, principal.user_id);
    if (await isFirstFactor(tx, principal.user_id)) throw notEnabled();
    await replaceRecoveryCodes(tx, principal.user_id, recoveryCodes.map(recoveryCodeHash));
    tx.emit(userEvent(context, principal, { action: "user.recovery_codes.rotate" }, now));
    const to = { email: principal.email, name: principal.name };
    const from = originOf(context.meta);
    await deps.mail.queue(tx, { kind: "recovery_codes_rotated", to, at: now, from }, principal, now);
  });
  return { recoveryCodes };
}

const invalidCode = () => new AppError("invalid_mfa_code", "Invalid code");
const alreadyEnabled = () => new AppError("mfa_already_enabled", "A second factor is already enabled");
