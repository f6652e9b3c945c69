import { AppError } from "@muster/kit";
import type { Access, Session } from "../route.ts";
import type { AccessTokens } from "./access-token.ts";
import type { SessionCache } from "./session-cache.ts";

export type Authenticate = (authorization: string | null) => Session | Promise<Session>;

/** From the Authorization header to the signed-in person; synchronous while both are remembered. Throws AppError (401). */
export function createAuthenticate(tokens: AccessTokens, sessions: SessionCache): Authenticate {
  return (authorization) => {
    const token = bearerToken(authorization);
    if (token === null) throw new AppError("unauthenticated", "Authentication is required");
    const verified = tokens.verify(token);
    return verified instanceof Promise ? verified.then((known) => sessions.get(known)) : sessions.get(verified);
  };
}

/** The token of `Authorization: Bearer <token>` (RFC 6750 section 2.1), else null. */
export function bearerToken(authorization: string | null): string | null {
  if (authorization === null || authorization.length < 8 || authorization.charCodeAt(6) !== 0x20) return null;
  if (authorization.slice(0, 6).toLowerCase() !== "bearer") return null;
  const token = authorization.slice(7).trim();
  return token === "" ? null : token;
}

export type AccessRules = { mfaMaxAgeMs: number; mfaEnrollUrl: string };

/** Organizations whose people must wait; `trial` and `active` go on. */
const closedOrganizations = ["suspended", "churned", "deleted"];

/**
 * Whether the person's partner and organization are open (01-conventions, "Errors"). System callers go on. Throws AppError
 * `partner_inactive` or `organization_inactive` with the `status`, `unavailable` while identity does not know it.
 */
export function checkTenant({ principal, caller }: Session): void {
  if (caller.scope === "system") return;
  const { partnerStatus, orgStatus } = principal;
  if (partnerStatus === "unknown" || orgStatus === "unknown") {
    throw new AppError("unavailable", "Service is temporarily unavailable", { retryAfterSeconds: 1 });
  }
  if (partnerStatus !== "" && partnerStatus !== "active") {
    throw new AppError("partner_inactive", "Partner is not active", { facts: { status: partnerStatus } });
  }
  if (caller.scope === "organization" && closedOrganizations.includes(orgStatus)) {
    throw new AppError("organization_inactive", "Organization is not active", { facts: { status: orgStatus } });
  }
}

/**
 * Whether a signed-in person may call a row, in the order of 01-conventions: open tenant, permission, MFA, scope, account.
 * Throws AppError as checkTenant does, `permission_denied`, `mfa_required`, `scope_not_allowed` or `misconfigured_account`.
 */
export function checkAccess(access: Access, session: Session, rules: AccessRules, now: () => number): void {
  if (access.auth !== "session") return;
  if (!access.whileInactive) checkTenant(session);
  const { caller } = session;
  if (access.permission !== undefined && !caller.permissions.includes(access.permission)) {
    throw new AppError("permission_denied", "Permission denied", { facts: { required: access.permission } });
  }
  if (access.mfa && (caller.mfaAt === null || now() - caller.mfaAt.getTime() > rules.mfaMaxAgeMs)) {
    throw new AppError("mfa_required", "A completed MFA challenge is required", {
      facts: { enrollUrl: rules.mfaEnrollUrl },
    });
  }
  if (access.scopes !== undefined && !access.scopes.includes(caller.scope)) {
    throw new AppError("scope_not_allowed", "This operation is not available to your scope", {
      facts: { allowed: access.scopes },
    });
  }
  const restricted = access.permission !== undefined || access.scopes !== undefined;
  if (restricted && caller.scope === "organization" && caller.orgId === null) {
    throw new AppError("misconfigured_account", "Misconfigured account");
  }
}
