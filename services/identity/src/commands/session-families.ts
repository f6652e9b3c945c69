import { randomBytes } from "node:crypto";
import type { Tx } from "@muster/db";
import { type CallContext, type Caller, uuidv7 } from "@muster/kit";
import type { Principal, TokenPair } from "@muster/proto/muster/identity/v1/session_pb";
import type { SessionDeps } from "../deps.ts";
import { userEvent } from "../emits/audit.ts";
import { sessionEvents } from "../emits/platform.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { principalCaller, principalMessage } from "../rules/principal.ts";
import { refreshToken } from "../rules/refresh-token.ts";
import { recordLogin } from "../store/principals.ts";
import { familyLocation } from "../store/sealed-columns.ts";
import { insertSession } from "../store/sessions.ts";

type SessionFamilyDeps = Pick<SessionDeps, "db" | "tokens" | "box" | "idleDays" | "maxDays" | "now">;

export type SignedIn = { principal: Principal; tokens: Omit<TokenPair, "$typeName"> };

const dayMs = 86_400_000;

/** A session family that is about to begin. */
export type NewFamily = {
  caller: Caller;
  /** Writes the session, the sign-in and its audit row, which names the provider, in the caller's transaction. */
  store(tx: Tx, providerName?: string): Promise<void>;
  /** What the client gets once that has committed. */
  signedIn(): Promise<SignedIn>;
};

/**
 * Prepares a sign-in of this user; `mfaAt` when a second factor was part of it, `newHash` when the password was
 * rehashed, `ssoProviderId` when an identity provider vouched for them, `clientName` of a client that they approved.
 */
export function newFamily(
  deps: SessionFamilyDeps,
  context: CallContext,
  principal: PrincipalRow,
  {
    mfaAt = null,
    newHash = null,
    ssoProviderId = null,
    clientName = null,
  }: {
    mfaAt?: Date | null;
    newHash?: string | null;
    ssoProviderId?: string | null;
    clientName?: string | null;
  } = {},
): NewFamily {
  const now = deps.now();
  const id = uuidv7(now.getTime());
  const secret = randomBytes(32);
  const expiresAt = new Date(now.getTime() + deps.maxDays * dayMs);
  const session = { id, mfaAt, expiresAt };
  const caller = principalCaller(principal, session);
  return {
    caller,
    async store(tx, providerName) {
      await insertSession(tx, {
        id,
        userId: principal.user_id,
        partnerId: principal.partner_id,
        orgId: principal.org_id,
        familySecret: deps.box.seal(secret, familyLocation(id)),
        mfaAt,
        ssoProviderId,
        clientName,
        ipAddress: context.meta.clientAddress,
        userAgent: context.meta.userAgent,
        now,
        idleExpiresAt: new Date(Math.min(now.getTime() + deps.idleDays * dayMs, expiresAt.getTime())),
        expiresAt,
      });
      await recordLogin(tx, principal.user_id, newHash, now);
      const provider = { providerId: ssoProviderId, ...(providerName === undefined ? {} : { providerName }) };
      const method = ssoProviderId === null ? {} : { method: "sso", ...provider };
      const client = clientName === null ? {} : { clientName };
      const details = { mfa: mfaAt !== null, ...method, ...client };
      tx.emit(userEvent({ ...context, caller }, principal, { action: "user.login", details }, now));
      const began = { sessionId: id, mfa: mfaAt !== null };
      const facts = [
        { type: "user.login" as const, ...began },
        { type: "session.login" as const, ...began, expiresAt },
      ];
      for (const event of sessionEvents(context.meta, principal, facts, now)) tx.emit(event);
    },
    signedIn: async () => ({
      principal: principalMessage(principal, session),
      tokens: await tokenPair(deps, principal, { id, mfaAt, generation: 1, secret }),
    }),
  };
}

/** Tokens of a family at this generation. Throws nothing but signing errors. */
export async function tokenPair(
  { tokens, now }: Pick<SessionFamilyDeps, "tokens" | "now">,
  principal: PrincipalRow,
  session: { id: string; mfaAt: Date | null; generation: number; secret: Buffer },
): Promise<SignedIn["tokens"]> {
  const claims = {
    userId: principal.user_id,
    sessionId: session.id,
    userVersion: principal.version,
    mfaAt: session.mfaAt,
  };
  return {
    accessToken: await tokens.issue(claims, now()),
    refreshToken: refreshToken(session.id, session.generation, session.secret),
    expiresInSeconds: tokens.ttlSeconds,
  };
}
