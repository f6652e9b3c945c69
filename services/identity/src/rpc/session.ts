import { randomBytes } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, isUuid, uuidv7 } from "@muster/kit";
import type { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { callContext } from "@muster/rpc";
import { auditEvent } from "@muster/service";
import type { AccessTokens } from "../access-tokens.ts";
import { sessionRevoked } from "../events/auth.ts";
import type { Passwords } from "../passwords.ts";
import { principalCaller, principalMessage } from "../rules/principal.ts";
import { isGenuine, judgeRefresh, parseRefreshToken, refreshToken } from "../rules/refresh-token.ts";
import type { SecretBox } from "../rules/secret-box.ts";
import { findLogin, findPrincipal, type PrincipalRow, recordLogin } from "../store/people.ts";
import { findSession, insertSession, revokeSession, rotateSession, type SessionRow } from "../store/sessions.ts";

export type SessionDeps = {
  db: Database;
  passwords: Passwords;
  tokens: AccessTokens;
  box: SecretBox;
  idleDays: number;
  maxDays: number;
  now: () => Date;
};

const dayMs = 86_400_000;

/** Sign-in and session families (01-conventions, "Sessions"). */
export function sessionService(deps: SessionDeps): ServiceImpl<typeof SessionService> {
  return {
    login: (request, handler) => login(deps, callContext(handler), request),
    refresh: (request, handler) => refresh(deps, callContext(handler), request.refreshToken),
    logout: (_request, handler) => logout(deps, callContext(handler)),
    async resolveSession({ sessionId, userId }) {
      const session = isUuid(sessionId) ? await findSession(deps.db, sessionId) : null;
      if (!session || session.user_id !== userId || hasEnded(session, deps.now())) throw revoked();
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
  const candidate = await findLogin(db, email);
  const matches = await passwords.verify(password, candidate?.password_hash ?? null);
  if (!candidate || !matches || candidate.status !== "active") throw refusedLogin();
  const principal = await findPrincipal(db, candidate.user_id);
  if (principal?.status !== "active") throw refusedLogin();
  const stale = candidate.password_hash !== null && passwords.isStale(candidate.password_hash);
  const newHash = stale ? await passwords.hash(password) : null;

  const now = deps.now();
  const id = uuidv7(now.getTime());
  const secret = randomBytes(32);
  const expiresAt = new Date(now.getTime() + deps.maxDays * dayMs);
  const session = { id, mfaAt: null, expiresAt };
  const caller = principalCaller(principal, session);
  await db.tx({ ...context, caller }, async (tx) => {
    await insertSession(tx, {
      id,
      userId: principal.user_id,
      partnerId: principal.partner_id,
      orgId: principal.org_id,
      familySecret: deps.box.seal(secret, familyPlace(id)),
      ipAddress: context.meta.clientAddress,
      userAgent: context.meta.userAgent,
      now,
      idleExpiresAt: new Date(Math.min(now.getTime() + deps.idleDays * dayMs, expiresAt.getTime())),
      expiresAt,
    });
    await recordLogin(tx, principal.user_id, newHash, now);
    emitAudit(tx, deps, { ...context, caller }, principal, "user.login");
  });
  return {
    principal: principalMessage(principal, session),
    tokens: await tokenPair(deps, principal, { ...session, generation: 1, secret }),
  };
}

async function refresh(deps: SessionDeps, context: CallContext, text: string) {
  const token = parseRefreshToken(text);
  const session = token ? await findSession(deps.db, token.sessionId) : null;
  if (!token || !session) throw refusedRefresh();
  const secret = deps.box.open(session.family_secret, familyPlace(session.session_id));
  if (!isGenuine(token, secret)) throw refusedRefresh();
  const principal = await activePrincipal(deps, session.user_id);
  const caller = principalCaller(principal, facts(session));

  const outcome = await deps.db.tx({ ...context, caller }, async (tx) => {
    const now = deps.now();
    const verdict = judgeRefresh(token, camel(session), now);
    if (verdict === "rotate") {
      const idle = new Date(now.getTime() + deps.idleDays * dayMs);
      // Lost against a twin request: its successor is the one to hand out.
      await rotateSession(tx, session.session_id, token.generation, now, idle);
      return "successor";
    }
    if (verdict === "repeat") return "successor";
    if (verdict === "reuse" && (await revokeSession(tx, session.session_id, "refresh token reuse", now))) {
      tx.emit(sessionRevoked(session.session_id, session.user_id, now));
      emitAudit(tx, deps, { ...context, caller }, principal, "user.session.revoke", "refresh token reuse");
    }
    return "refused";
  });
  if (outcome === "refused") throw refusedRefresh();
  const current = await findSession(deps.db, session.session_id);
  if (!current || hasEnded(current, deps.now())) throw refusedRefresh();
  const generation = token.generation + 1;
  return { tokens: await tokenPair(deps, principal, { ...facts(session), generation, secret }) };
}

async function logout(deps: SessionDeps, context: CallContext) {
  const { sessionId, actor } = context.caller;
  if (!sessionId) throw new AppError("user_session_required", "A user session is required");
  const principal = await findPrincipal(deps.db, actor.id);
  await deps.db.tx(context, async (tx) => {
    const now = deps.now();
    if (!(await revokeSession(tx, sessionId, "logout", now))) return;
    tx.emit(sessionRevoked(sessionId, actor.id, now));
    if (principal) emitAudit(tx, deps, context, principal, "user.logout");
  });
  return {};
}

async function activePrincipal(deps: SessionDeps, userId: string): Promise<PrincipalRow> {
  const principal = await findPrincipal(deps.db, userId);
  if (principal?.status !== "active") throw revoked();
  return principal;
}

async function tokenPair(
  deps: SessionDeps,
  principal: PrincipalRow,
  session: { id: string; mfaAt: Date | null; generation: number; secret: Buffer },
) {
  const claims = {
    userId: principal.user_id,
    sessionId: session.id,
    userVersion: principal.version,
    mfaAt: session.mfaAt,
  };
  return {
    accessToken: await deps.tokens.mint(claims, deps.now()),
    refreshToken: refreshToken(session.id, session.generation, session.secret),
    expiresInSeconds: deps.tokens.ttlSeconds,
  };
}

function emitAudit(
  tx: Tx,
  deps: SessionDeps,
  context: CallContext,
  user: PrincipalRow,
  action: string,
  denied?: string,
): void {
  const fact = {
    action,
    resource: { type: "user", id: user.user_id, name: user.name },
    orgId: user.org_id,
    partnerId: user.partner_id,
    ...(denied ? { result: "denied" as const, errorMessage: denied } : {}),
  };
  tx.emit(auditEvent("identity", context, fact, deps.now()));
}

const familyPlace = (sessionId: string) => `sessions/${sessionId}/family_secret`;
const facts = (s: SessionRow) => ({ id: s.session_id, mfaAt: s.mfa_at, expiresAt: s.expires_at });
const camel = (s: SessionRow) => ({
  generation: s.generation,
  rotatedAt: s.rotated_at,
  idleExpiresAt: s.idle_expires_at,
  expiresAt: s.expires_at,
  revokedAt: s.revoked_at,
});
const hasEnded = (s: SessionRow, now: Date) => s.revoked_at !== null || s.idle_expires_at <= now || s.expires_at <= now;

/** One answer for every reason: strangers learn nothing about accounts. */
const refusedLogin = () => new AppError("invalid_credentials", "Invalid email or password");
const refusedRefresh = () => new AppError("invalid_refresh_token", "Invalid or expired refresh token");
const revoked = () => new AppError("session_revoked", "Session has ended");
