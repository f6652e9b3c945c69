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

/** A person completed a second factor in this session, not longer ago than `maxAgeMinutes`. Throws `mfa_required`. */
export function requireMfa(context: CallContext, maxAgeMinutes: number, now: Date = new Date()): void {
  const { mfaAt } = context.caller;
  if (mfaAt === null || now.getTime() - mfaAt.getTime() > maxAgeMinutes * 60_000) {
    throw new AppError("mfa_required", "A completed MFA challenge is required");
  }
}
