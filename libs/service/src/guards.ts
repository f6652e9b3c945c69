import { AppError, type CallContext, type Scope } from "@muster/kit";

/** Second wall behind the gateway: the caller holds the permission. Throws `permission_denied`. */
export function requirePermission(context: CallContext, permission: string): void {
  if (!context.caller.permissions.includes(permission)) {
    throw new AppError("permission_denied", "Permission denied", { facts: { required: permission } });
  }
}

/** The caller's scope is one of those allowed. Throws `scope_not_allowed`. */
export function requireScope(context: CallContext, ...allowed: Scope[]): void {
  if (!allowed.includes(context.caller.scope)) {
    throw new AppError("scope_not_allowed", "This operation is not available to your scope", {
      facts: { allowed },
    });
  }
}

/** A user completed a second factor in this session, not longer ago than `maxAgeMinutes`. Throws `mfa_required`. */
export function requireMfa(context: CallContext, maxAgeMinutes: number, now: Date = new Date()): void {
  const { mfaAt } = context.caller;
  if (mfaAt === null || now.getTime() - mfaAt.getTime() > maxAgeMinutes * 60_000) {
    throw new AppError("mfa_required", "A completed MFA challenge is required");
  }
}

/** People of an organization have one. Throws `misconfigured_account`. */
export function requireOrganization({ caller }: CallContext): void {
  if (caller.scope === "organization" && caller.orgId === null) {
    throw new AppError("misconfigured_account", "Misconfigured account");
  }
}

/** The caller is a user, not a key or a service. Throws `user_session_required`. */
export function requireUser({ caller }: CallContext): void {
  if (caller.actor.type !== "user") throw new AppError("user_session_required", "A user session is required");
}

/** The caller is not restricted to sites: what follows concerns a whole organization. Throws `site_restricted`. */
export function requireWholeOrganization({ caller }: CallContext): void {
  if (caller.siteIds !== null) throw siteRestricted();
}

export const siteRestricted = () => new AppError("site_restricted", "Your access is restricted to sites");
