import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isUuid, nameError, validationError } from "@muster/kit";
import { type Passkey, PasskeySchema, type PasskeyService } from "@muster/proto/muster/identity/v1/passkey_pb";
import { callContext } from "@muster/rpc";
import { requireMfa } from "@muster/service";
import {
  completeLogin,
  enrolled,
  invalidPassword,
  isFirstFactor,
  type Proof,
  requireOwnFactor,
  signedInUser,
  stepUp,
  waitingSignIn,
} from "../commands/complete-factor.ts";
import { provesOwner } from "../commands/own-proof.ts";
import { authenticationOptions, registrationOptions, usePasskey, verifiedPasskey } from "../commands/passkeys.ts";
import { tryFactor } from "../commands/second-factor.ts";
import type { FactorDeps, PasskeyDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import { principalCaller } from "../rules/principal.ts";
import { factorRemoved, lockUserFactors } from "../store/factors.ts";
import { insertPasskey, listOwnPasskeys, type PasskeyRow, removePasskey, renamePasskey } from "../store/passkeys.ts";

export type PasskeyServiceDeps = FactorDeps & PasskeyDeps;

/** Passkeys as second factors (docs/behaviour.md#sessions). */
export function passkeyService(deps: PasskeyServiceDeps): ServiceImpl<typeof PasskeyService> {
  return {
    beginRegistration: ({ password }, handler) => beginRegistration(deps, callContext(handler), password),
    finishRegistration: (request, handler) => finishRegistration(deps, callContext(handler), request),
    beginAuthentication: ({ mfaToken }, handler) => beginAuthentication(deps, callContext(handler), mfaToken),

    finishAuthentication({ mfaToken, credentialJson }, handler) {
      const context = callContext(handler);
      const proof: Proof = {
        factor: "passkey",
        refusal: refusedPasskey(),
        isRight: (tx, user, about) => usePasskey(deps, tx, user, about, credentialJson),
      };
      return mfaToken === "" ? stepUp(deps, context, proof) : completeLogin(deps, context, mfaToken, proof);
    },

    async listPasskeys(_request, handler) {
      const context = callContext(handler);
      await signedInUser(deps, context);
      return { passkeys: (await listOwnPasskeys(deps.db, context)).map(passkeyMessage) };
    },

    async renamePasskey({ id, name }, handler) {
      const context = callContext(handler);
      const { principal } = await signedInUser(deps, context);
      const wanted = nameOf(name);
      if (wanted === "") throw validationError({ name: ["1 to 255 characters"] });
      const row = await deps.db.tx(context, async (tx) => {
        const renamed = isUuid(id) ? await renamePasskey(tx, principal.user_id, id, wanted) : null;
        if (!renamed) return null;
        const changes = { before: { name: renamed.before }, after: { name: wanted } };
        const details = { passkeyId: id, changes };
        tx.emit(userEvent(context, principal, { action: "user.passkey.update", details }, deps.now()));
        return renamed.row;
      });
      if (!row) throw notFound();
      return { passkey: passkeyMessage(row) };
    },

    deletePasskey: ({ id }, handler) => deletePasskey(deps, callContext(handler), id),
  };
}

async function beginRegistration(deps: PasskeyServiceDeps, context: CallContext, password: string) {
  const user = await signedInUser(deps, context);
  const { principal, sessionId } = user;
  requireOwnFactor(deps, context, principal);
  const matches = await provesOwner(deps, context, user, password);
  const optionsJson = await tryFactor(deps, context, principal, { refusal: invalidPassword() }, async (tx) =>
    matches ? registrationOptions(deps, tx, principal, { sessionId }) : null,
  );
  return { optionsJson };
}

async function finishRegistration(
  deps: PasskeyServiceDeps,
  context: CallContext,
  { credentialJson, name }: { credentialJson: string; name: string },
) {
  const user = await signedInUser(deps, context);
  const { principal, sessionId } = user;
  requireOwnFactor(deps, context, principal);
  // A wrong answer is no guess at a secret, yet it ends the challenge: decided inside, thrown outside.
  const outcome = await deps.db.tx(context, async (tx) => {
    await lockUserFactors(tx, principal.user_id);
    const made = await verifiedPasskey(deps, tx, principal, { sessionId }, credentialJson);
    if (!made) return null;
    const isFirst = await isFirstFactor(tx, principal.user_id);
    const label = nameOf(name) || `Passkey of ${made.now.toISOString().slice(0, 10)}`;
    const row = await insertPasskey(tx, { ...made, name: label });
    if (!row) return null;
    const after = { name: row.name, transports: row.transports, backedUp: row.backed_up };
    const details = { passkeyId: row.id, changes: { before: {}, after } };
    const added = { factor: "passkey" as const, action: "user.passkey.create", details, isFirst };
    return { row, ...(await enrolled(deps, tx, context, user, added)) };
  });
  if (!outcome) throw refusedPasskey();
  await appliedEverywhere(deps.db, [outcome.msgId]);
  return { passkey: passkeyMessage(outcome.row), recoveryCodes: outcome.recoveryCodes };
}

async function beginAuthentication(deps: PasskeyServiceDeps, context: CallContext, mfaToken: string) {
  if (mfaToken === "") {
    const { principal, sessionId } = await signedInUser(deps, context);
    const optionsJson = await deps.db.tx(context, (tx) => authenticationOptions(deps, tx, principal, { sessionId }));
    return { optionsJson };
  }
  const { principal, challengeId } = await waitingSignIn(deps, mfaToken);
  const who = { ...context, caller: principalCaller(principal) };
  const about = { mfaChallengeId: challengeId };
  return { optionsJson: await deps.db.tx(who, (tx) => authenticationOptions(deps, tx, principal, about)) };
}

async function deletePasskey(deps: PasskeyServiceDeps, context: CallContext, id: string) {
  const { principal } = await signedInUser(deps, context);
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
  const userId = principal.user_id;
  const changed = await deps.db.tx(context, async (tx) => {
    const now = deps.now();
    await lockUserFactors(tx, userId);
    const name = isUuid(id) ? await removePasskey(tx, userId, id) : null;
    if (name === null) return null;
    const { version, wasLast } = await factorRemoved(tx, userId, now);
    const message = userChanged(userId, version);
    tx.emit(message);
    const details = { passkeyId: id, changes: { before: { name }, after: {} } };
    tx.emit(userEvent(context, principal, { action: "user.passkey.delete", details }, now));
    const disabled = { action: "user.mfa.disable", details: { factor: "passkey" } };
    if (wasLast) tx.emit(userEvent(context, principal, disabled, now));
    return message.msgId;
  });
  if (changed === null) throw notFound();
  await appliedEverywhere(deps.db, [changed]);
  return {};
}

function nameOf(name: string): string {
  const trimmed = name.trim();
  const error = trimmed === "" ? null : nameError(trimmed);
  if (error) throw validationError({ name: [error] });
  return trimmed;
}

function passkeyMessage(row: PasskeyRow): Passkey {
  return create(PasskeySchema, {
    id: row.id,
    name: row.name,
    transports: row.transports,
    backedUp: row.backed_up,
    createdAt: timestampFromDate(row.created_at),
    lastUsedAt: row.last_used_at ? timestampFromDate(row.last_used_at) : undefined,
  });
}

const refusedPasskey = () => new AppError("invalid_passkey", "Invalid passkey");
const notFound = () => new AppError("passkey_not_found", "Passkey not found");
