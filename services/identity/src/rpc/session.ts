import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isUuid, sessionEnded, uuidv7 } from "@muster/kit";
import type { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { callContext } from "@muster/rpc";
import { endSessions } from "../commands/end-sessions.ts";
import { newFamily, tokenPair } from "../commands/session-families.ts";
import type { SessionDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userEvent } from "../emits/audit.ts";
import { sessionRevoked } from "../emits/auth.ts";
import { noteFailedLogin } from "../emits/failed-login.ts";
import { sessionEvents } from "../emits/platform.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { factorMethods } from "../rules/factors.ts";
import { newToken } from "../rules/opaque-token.ts";
import { mayUsePassword } from "../rules/password-sign-in.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { principalCaller, principalMessage } from "../rules/principal.ts";
import { checkRefresh, isGenuine, parseRefreshToken } from "../rules/refresh-token.ts";
import { countLogin, loginAttempt } from "../store/attempts.ts";
import { findFactors, insertChallenge } from "../store/factors.ts";
import { limitedUntil, readFailures } from "../store/failures.ts";
import { findLogins, findPrincipal, type LoginCandidate, passwordStands, recordRehash } from "../store/principals.ts";
import { familyLocation } from "../store/sealed-columns.ts";
import { findSession, lockSession, rotateSession, type SessionRow } from "../store/sessions.ts";
import { refusedToken } from "../store/unknown-keys.ts";

const dayMs = 86_400_000;
/** Life of an mfaToken (docs/behaviour.md#sessions). */
const challengeMs = 5 * 60_000;

/** Sign-in and session families (docs/behaviour.md#sessions). */
export function sessionService(deps: SessionDeps): ServiceImpl<typeof SessionService> {
  return {
    login: (request, handler) => login(deps, callContext(handler), request),
    refresh: (request, handler) => refresh(deps, callContext(handler), request.refreshToken),
    logout: (_request, handler) => logout(deps, callContext(handler)),
    async resolveSession({ sessionId, userId }) {
      const session = isUuid(sessionId) ? await findSession(deps.db, sessionId) : null;
      if (!session || session.user_id !== userId || hasEnded(session, deps.now())) throw sessionEnded();
      return { principal: principalMessage(await activePrincipal(deps, session.user_id), facts(session)) };
    },
    getJwks: async () => ({ jwksJson: await deps.tokens.jwksJson() }),
  };
}

async function login(
  deps: SessionDeps,
  context: CallContext,
  { email, password }: { email: string; password: string },
) {
  const { db, passwords } = deps;
  const attempt = loginAttempt(deps.loginLimits, context.meta.clientAddress, email);
  const both = [attempt.account, attempt.address];
  let candidates: LoginCandidate[] = [];
  // The database is not queried before the check starts: of a hundred concurrent sign-ins only the running one costs
  // anything.
  const storedHash = async () => {
    const [failures, found] = await Promise.all([readFailures(db, both), findLogins(db, email)]);
    const limited = limitedUntil(failures, both, deps.now());
    // Checked before the derivation: a refused attempt costs nothing.
    if (limited) throw tooManyFailures(limited, deps.now());
    candidates = found;
    return found[0]?.password_hash ?? null;
  };
  const matches = await passwords.verify(password, storedHash, context);
  const [first, ...others] = candidates;
  // Queried for every sign-in: each refusal takes the same statements, the same derivation and the same text.
  const found = await findPrincipal(db, first?.user_id ?? uuidv7());
  const own = matches && mayUsePassword(found) && first ? { candidate: first, principal: found } : null;
  const { candidate, principal } = own ?? (await amongOthers(deps, context, others, password)) ?? nobody;
  const until = await countLogin(db, attempt, principal ? "succeeded" : "failed", deps.now());
  // Also for a right password: it must not stand out among concurrent guesses.
  if (until) throw tooManyFailures(until, deps.now());
  if (!principal) {
    if (found) noteInBackground(deps, context, found);
    throw refusedLogin();
  }
  const verified = candidate.password_hash;
  const newHash = passwords.isStale(verified) ? await passwords.hash(password, context) : null;
  if (principal.mfa_enabled) return challenge(deps, context, principal, { verified, newHash });
  const family = newFamily(deps, context, principal, { newHash });
  await db.tx({ ...context, caller: family.caller }, async (tx) => {
    if (!(await passwordStands(tx, principal.user_id, verified))) throw refusedLogin();
    await family.store(tx);
  });
  return family.signedIn();
}

type Matched = { candidate: LoginCandidate; principal: PrincipalRow };
const nobody = { candidate: null, principal: null };

/**
 * The account of this password among those that share an address which nobody has proven; each takes a derivation of
 * its own. Null for every other address.
 */
async function amongOthers(
  { db, passwords }: SessionDeps,
  context: CallContext,
  others: readonly LoginCandidate[],
  password: string,
): Promise<Matched | null> {
  for (const candidate of others) {
    if (!(await passwords.verify(password, candidate.password_hash, context))) continue;
    const principal = await findPrincipal(db, candidate.user_id);
    if (mayUsePassword(principal)) return { candidate, principal };
  }
  return null;
}

/** The password was right: a token for five minutes in which the second factor can follow. */
async function challenge(
  deps: SessionDeps,
  context: CallContext,
  principal: PrincipalRow,
  { verified, newHash }: { verified: string; newHash: string | null },
) {
  const now = deps.now();
  const { token, hash } = newToken("mfa_");
  const expiresAt = new Date(now.getTime() + challengeMs);
  const methods = await deps.db.tx({ ...context, caller: principalCaller(principal) }, async (tx) => {
    if (!(await passwordStands(tx, principal.user_id, verified))) throw refusedLogin();
    await insertChallenge(tx, { id: uuidv7(now.getTime()), userId: principal.user_id, hash, now, expiresAt });
    if (newHash !== null) await recordRehash(tx, principal.user_id, newHash);
    return factorMethods(await findFactors(tx, principal.user_id));
  });
  return { mfaToken: token, methods };
}

/** Not awaited: its duration would distinguish known accounts from unknown ones. */
function noteInBackground(deps: SessionDeps, context: CallContext, principal: PrincipalRow): void {
  const userId = principal.user_id;
  const note = async () => {
    const caller = principalCaller(principal);
    const who = { caller, meta: context.meta };
    await deps.db.tx({ caller }, (tx) => noteFailedLogin(tx, who, principal, "password", deps.now()));
  };
  // Started once the answer is on its way.
  setImmediate(() => note().catch((err: unknown) => deps.log.warn({ err, userId }, "failed sign-in not recorded")));
}

async function refresh(deps: SessionDeps, context: CallContext, text: string) {
  const token = parseRefreshToken(text);
  const session = token ? await findSession(deps.db, token.sessionId) : null;
  const secret = session ? deps.box.open(session.family_secret, familyLocation(session.session_id)) : null;
  if (!token || !session || !secret || !isGenuine(token, secret)) {
    throw await refusedToken(deps, context, refusedRefresh());
  }
  const principal = await activePrincipal(deps, session.user_id);
  const caller = principalCaller(principal, facts(session));

  const outcome = await deps.db.tx({ ...context, caller }, async (tx) => {
    const now = deps.now();
    // Decided under its lock: of two concurrent tabs one rotates, and the other receives the same successor.
    const current = await lockSession(tx, session.session_id);
    const verdict = current ? checkRefresh(token, camel(current), now) : "ended";
    // A session from a password ends where single sign-on is enforced since.
    const closed = session.began_by === "password" && principal.sso_enforced;
    if (closed && (verdict === "rotate" || verdict === "repeat")) {
      const only = { only: session.session_id };
      return { revoked: await endSessions(tx, { ...context, caller }, principal, only, "sso_required", now) };
    }
    if (verdict === "rotate") {
      const idle = new Date(now.getTime() + deps.idleDays * dayMs);
      await rotateSession(tx, session.session_id, token.generation, now, idle, context.meta.clientAddress);
    }
    if (verdict === "rotate" || verdict === "repeat") return { mfaAt: current?.mfa_at ?? null };
    if (verdict === "ended") return { revoked: [] };
    const who = { ...context, caller };
    const only = { only: session.session_id };
    return { revoked: await endSessions(tx, who, principal, only, "refresh_token_reuse", now) };
  });
  if (outcome.revoked) {
    // Every holder of an access token, thief or owner, is refused everywhere when this returns.
    await appliedEverywhere(deps.db, outcome.revoked);
    throw refusedRefresh();
  }
  const generation = token.generation + 1;
  const { session_id: id } = session;
  return { tokens: await tokenPair(deps, principal, { id, mfaAt: outcome.mfaAt, generation, secret }) };
}

async function logout(deps: SessionDeps, context: CallContext) {
  const { sessionId, actor } = context.caller;
  if (!sessionId) throw new AppError("user_session_required", "A user session is required");
  const principal = await findPrincipal(deps.db, actor.id);
  if (!principal) throw sessionEnded();
  const now = deps.now();
  const messages = await deps.db.tx(context, async (tx) => {
    const ended = await endSessions(tx, context, principal, { only: sessionId }, "logout", now);
    if (ended.length === 0) return [];
    tx.emit(userEvent(context, principal, { action: "user.logout" }, now));
    for (const event of sessionEvents(context.meta, principal, [{ type: "user.logout", sessionId }], now))
      tx.emit(event);
    return ended;
  });
  if (messages.length === 0 && (await endedJustNow(deps, sessionId))) {
    messages.push(sessionRevoked(sessionId, actor.id, now).msgId);
  }
  await appliedEverywhere(deps.db, messages);
  return {};
}

/** Whether the word of it may still be on its way to the gateways. */
export async function endedJustNow(deps: Pick<SessionDeps, "db" | "now">, sessionId: string): Promise<boolean> {
  const revokedAt = (await findSession(deps.db, sessionId))?.revoked_at;
  return revokedAt != null && deps.now().getTime() - revokedAt.getTime() < 10_000;
}

async function activePrincipal(deps: Pick<SessionDeps, "db">, userId: string): Promise<PrincipalRow> {
  const principal = await findPrincipal(deps.db, userId);
  if (principal?.status !== "active") throw sessionEnded();
  return principal;
}

const facts = (s: SessionRow) => ({ id: s.session_id, mfaAt: s.mfa_at, expiresAt: s.expires_at });
const camel = (s: SessionRow) => ({
  generation: s.generation,
  rotatedAt: s.rotated_at,
  idleExpiresAt: s.idle_expires_at,
  expiresAt: s.expires_at,
  revokedAt: s.revoked_at,
});
const hasEnded = (s: SessionRow, now: Date) => s.revoked_at !== null || s.idle_expires_at <= now || s.expires_at <= now;

/** One answer for every reason: anonymous callers learn nothing about accounts. */
const refusedLogin = () => new AppError("invalid_credentials", "Invalid email or password");
const refusedRefresh = () => new AppError("invalid_refresh_token", "Invalid or expired refresh token");
