import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Caller, OrgAccess, Scope } from "@muster/kit";
import type { Principal } from "@muster/proto/muster/identity/v1/session_pb";
import type { Session } from "../route/credential.ts";

/** The signed-in user as services see them. Throws a plain Error on a scope this version does not know. */
export function sessionOf(principal: Principal): Session {
  const caller: Caller = {
    actor: {
      type: "user",
      id: principal.userId,
      email: principal.email || null,
      name: principal.name || null,
      role: principal.role || null,
      department: principal.department || null,
    },
    scope: scopeOf(principal.scope),
    partnerId: principal.partnerId || null,
    orgId: principal.orgId || null,
    orgAccess: orgAccessOf(principal),
    siteIds: principal.siteRestricted ? principal.siteIds : null,
    permissions: principal.permissions,
    mfaAt: principal.mfaAt ? timestampDate(principal.mfaAt) : null,
    sessionId: principal.sessionId,
    keyId: null,
  };
  return { kind: "session", id: principal.sessionId, principal, caller };
}

/** The user's partner or organization requires a second factor, and none was completed in this session. */
export const lacksSecondFactor = ({ secondFactorRequired, mfaAt }: Principal): boolean =>
  secondFactorRequired && mfaAt === undefined;

/** The user as clients see them: `user` of the login, and GET /auth/me. */
export function signedInUserOf(principal: Principal) {
  return {
    id: principal.userId,
    email: principal.email,
    name: principal.name,
    scope: scopeOf(principal.scope),
    partnerId: principal.partnerId || null,
    orgId: principal.orgId || null,
    permissions: principal.permissions,
    mfaEnabled: principal.mfaEnabled,
    secondFactorRequired: lacksSecondFactor(principal),
  };
}

function scopeOf(text: string): Scope {
  if (text === "system" || text === "partner" || text === "organization") return text;
  throw new Error(`identity named an unknown scope "${text}"`);
}

function orgAccessOf(principal: Principal): OrgAccess {
  if (principal.scope === "system") return { mode: "all" };
  if (principal.scope === "organization") return { mode: "list", orgIds: principal.orgId ? [principal.orgId] : [] };
  return principal.orgAccess === "all"
    ? { mode: "all" }
    : { mode: "list", orgIds: principal.orgAccess === "selected" ? principal.orgIds : [] };
}
