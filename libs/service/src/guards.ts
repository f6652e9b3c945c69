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
