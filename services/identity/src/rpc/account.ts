import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AppError,
  type CallContext,
  clampPage,
  clientNetwork,
  isUuid,
  longerThan,
  nameError,
  sessionEnded,
  systemCaller,
  validationError,
} from "@muster/kit";
import { type AccountService, type SessionInfo, SessionInfoSchema } from "@muster/proto/muster/identity/v1/account_pb";
import { callContext } from "@muster/rpc";
import { proveMailbox } from "../commands/claim-address.ts";
import { invalidPassword, signedInUser } from "../commands/complete-factor.ts";
import { endSessions } from "../commands/end-sessions.ts";
import { tryFactor } from "../commands/second-factor.ts";
import type { AccountDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userEvent } from "../emits/audit.ts";
import { sessionRevoked, userChanged } from "../emits/auth.ts";
import { originOf } from "../emits/mail-queue.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { sessionName } from "../rules/device-name.ts";
import { managedBy } from "../rules/directory/managed-by.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { checkNewPassword } from "../rules/password-policy.ts";
import { hasLeft, mayUsePassword } from "../rules/password-sign-in.ts";
import { principalCaller } from "../rules/principal.ts";
import { ssoRequired } from "../rules/sso/sso-required.ts";
import { lockAddress } from "../store/addresses.ts";
import { managingDirectory } from "../store/directory/scim-users.ts";
import { addFailures, type Counted, limitedUntil, lockToCount } from "../store/failures.ts";
import { findPasswordReset, setPassword, usePasswordReset } from "../store/password-resets.ts";
import { findOwnPassword, findPrincipal, renameUser } from "../store/principals.ts";
import { findOwnSession, listOwnSessions, type OwnSession } from "../store/sessions.ts";
import { refusedToken } from "../store/unknown-keys.ts";
import { endedJustNow } from "./session.ts";

/** Users' own passwords and sessions (docs/behaviour.md#sessions). */
export function accountService(deps: AccountDeps): ServiceImpl<typeof AccountService> {
  return {
    forgotPassword: ({ email }, handler) => forgotPassword(deps, callContext(handler), email),
    resetPassword: (request, handler) => resetPassword(deps, callContext(handler), request),
    changePassword: (request, handler) => changePassword(deps, callContext(handler), request),
    updateOwnName: ({ name }, handler) => updateOwnName(deps, callContext(handler), name),

    async listSessions(request, handler) {
      const context = callContext(handler);
      const { sessionId } = await signedInUser(deps, context);
      const page = clampPage(request.page ?? {});
      const { rows, total, nextCursor } = await listOwnSessions(deps.db, context, page, deps.now());
      return {
        sessions: rows.map((row) => sessionMessage(row, sessionId)),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
      };
    },

    revokeSession: ({ id }, handler) => revokeOwnSession(deps, callContext(handler), id),

    async revokeOtherSessions(_request, handler) {
      const context = callContext(handler);
      const { principal, sessionId } = await signedInUser(deps, context);
      const messages = await deps.db.tx(context, (tx) =>
        endSessions(tx, context, principal, { except: sessionId }, "revoked", deps.now()),
      );
      await appliedEverywhere(deps.db, messages);
      return { revoked: messages.length };
    },
  };
}

/**
 * Queues a row for every e-mail; a job decides later whether it becomes a mail (jobs/send-mail.ts), so that reply and
 * timing reveal nothing. Beyond the account's limit no row is queued, and the reply is the same.
 */
async function forgotPassword(deps: AccountDeps, context: CallContext, email: string) {
  if (email.trim() === "" || longerThan(email, 255)) throw validationError({ email: ["1 to 255 characters"] });
  const network = clientNetwork(context.meta.clientAddress);
  const account: Counted = { key: `forgot/${email}`, limit: deps.forgotLimits.perAccount };
  const address: Counted = { key: `forgot-from/${network}`, limit: deps.forgotLimits.perAddress };
  const both = [account, address];
  const now = deps.now();
  const refusedUntil = await deps.db.tx(
    { ...context, caller: systemCaller("identity"), actsFor: network },
    async (tx) => {
      const counts = await lockToCount(tx, both, now);
      const until = limitedUntil(counts, [address], now);
      if (until) return until;
      const isTooOften = limitedUntil(counts, [account], now) !== null;
      await addFailures(tx, counts, isTooOften ? [address] : both, now);
      if (!isTooOften) await deps.mail.requestReset(tx, { email, from: originOf(context.meta) }, now);
      return null;
    },
  );
  if (refusedUntil) throw tooManyFailures(refusedUntil, now);
  return {};
}

async function resetPassword(
  deps: AccountDeps,
  context: CallContext,
  { token, password }: { token: string; password: string },
) {
  const link = await findPasswordReset(deps.db, tokenHash(token));
  if (!link) throw await refusedToken(deps, context, invalidToken());
  if (link.used_at || link.expires_at <= deps.now()) throw invalidToken();
  const user = await findPrincipal(deps.db, link.user_id);
  // A link from before single sign-on was enforced gets the same reply as a successful reset.
  if (user?.status === "active" && !hasLeft(user) && user.sso_enforced) return {};
  if (!mayUsePassword(user)) throw invalidToken();
  checkNewPassword(password, user.email);
  const passwordHash = await deps.passwords.hash(password, context);
  const who = { ...context, caller: principalCaller(user) };
  const messages = await deps.db.tx(who, async (tx) => {
    const now = deps.now();
    await lockAddress(tx, user.email);
    if (!(await usePasswordReset(tx, link.id, now))) return null;
    if (!(await setPassword(tx, user.user_id, passwordHash, now))) throw invalidToken();
    await proveMailbox(tx, who, user, now);
    tx.emit(userEvent(who, user, { action: "user.password.reset" }, now));
    const to = { email: user.email, name: user.name };
    await deps.mail.queue(tx, { kind: "password_changed", to, at: now, from: originOf(context.meta) }, user, now);
    return endSessions(tx, who, user, { except: null }, "password_reset", now);
  });
  if (messages === null) throw invalidToken();
  await appliedEverywhere(deps.db, messages);
  return {};
}

async function changePassword(
  deps: AccountDeps,
  context: CallContext,
  { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
) {
  const { principal, sessionId } = await signedInUser(deps, context);
  if (principal.sso_enforced) throw ssoRequired(principal);
  checkNewPassword(newPassword, principal.email, "newPassword");
  if (newPassword === currentPassword) throw validationError({ newPassword: ["Must differ from the current one"] });
  const matches = await deps.passwords.verify(currentPassword, await findOwnPassword(deps.db, context), context);
  const passwordHash = matches ? await deps.passwords.hash(newPassword, context) : null;
  const messages = await tryFactor(deps, context, principal, { refusal: invalidPassword() }, async (tx) => {
    if (passwordHash === null) return null;
    const now = deps.now();
    if (!(await setPassword(tx, principal.user_id, passwordHash, now))) {
      throw sessionEnded();
    }
    tx.emit(userEvent(context, principal, { action: "user.password.change" }, now));
    const to = { email: principal.email, name: principal.name };
    await deps.mail.queue(tx, { kind: "password_changed", to, at: now, from: originOf(context.meta) }, principal, now);
    return endSessions(tx, context, principal, { except: sessionId }, "password_change", now);
  });
  await appliedEverywhere(deps.db, messages);
  return {};
}

async function updateOwnName(deps: AccountDeps, context: CallContext, wanted: string) {
  const name = wanted.trim();
  const error = nameError(name);
  if (error) throw validationError({ name: [error] });
  const { principal } = await signedInUser(deps, context);
  const changed = await deps.db.tx(context, async (tx) => {
    const now = deps.now();
    const directory = await managingDirectory(tx, principal.user_id);
    if (directory) throw managedBy(directory);
    const renamed = await renameUser(tx, principal.user_id, name, now);
    if (!renamed) throw sessionEnded();
    const message = userChanged(principal.user_id, renamed.version);
    tx.emit(message);
    const changes = { before: { name: renamed.before }, after: { name } };
    const details = { changedFields: renamed.before === name ? [] : ["name"], changes };
    tx.emit(userEvent(context, { ...principal, name }, { action: "user.update", details }, now));
    return message;
  });
  await appliedEverywhere(deps.db, [changed.msgId]);
  return { name };
}

async function revokeOwnSession(deps: AccountDeps, context: CallContext, id: string) {
  const { principal } = await signedInUser(deps, context);
  const revokedAt = isUuid(id) ? await findOwnSession(deps.db, context, id) : undefined;
  if (revokedAt === undefined) throw new AppError("session_not_found", "Session not found");
  const now = deps.now();
  const messages = await deps.db.tx(context, (tx) => endSessions(tx, context, principal, { only: id }, "revoked", now));
  // A concurrent request ended it: the reply may be sent only once gateways have applied it.
  if (messages.length === 0 && (await endedJustNow(deps, id))) {
    messages.push(sessionRevoked(id, principal.user_id, now).msgId);
  }
  await appliedEverywhere(deps.db, messages);
  return {};
}

function sessionMessage(row: OwnSession, currentId: string): SessionInfo {
  return create(SessionInfoSchema, {
    id: row.id,
    device: sessionName(row),
    userAgent: row.user_agent ?? "",
    ipAddress: row.ip_address ?? "",
    createdAt: timestampFromDate(row.created_at),
    lastUsedAt: timestampFromDate(row.rotated_at),
    expiresAt: timestampFromDate(row.ends_at),
    mfaAt: row.mfa_at ? timestampFromDate(row.mfa_at) : undefined,
    current: row.id === currentId,
    clientName: row.client_name ?? "",
  });
}

const invalidToken = () => new AppError("invalid_token", "Invalid or expired token");
