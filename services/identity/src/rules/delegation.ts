import { AppError, type Caller } from "@muster/kit";

/** Permissions and access, of a user who has them or of one who grants them. */
export type Held = Pick<Caller, "scope" | "orgAccess" | "permissions">;

export type OrgGrant = "all" | "selected" | "none";

/** Organizations that a user of a partner has, or is to have. */
export type Access = { orgAccess: OrgGrant; orgIds: readonly string[] };

/** A caller can only grant permissions that they hold. Throws `delegation_denied`. */
export function requireHeldPermissions(by: Pick<Held, "permissions">, permissions: readonly string[]): void {
  const missing = permissions.filter((permission) => !by.permissions.includes(permission));
  if (missing.length > 0) throw denied({ permissions: missing });
}

/** A caller can only grant organizations that they have. Throws `delegation_denied`. */
export function requireHeldAccess(by: Held, { orgAccess, orgIds }: Access): void {
  if (by.scope !== "partner" || by.orgAccess.mode === "all") return;
  if (orgAccess === "all") throw denied({ permissions: [], orgAccess });
  const { orgIds: own } = by.orgAccess;
  const wider = orgAccess === "selected" ? orgIds.filter((id) => !own.includes(id)) : [];
  if (wider.length > 0) throw denied({ permissions: [], orgIds: wider });
}

/** A caller can only manage users who have no more than the caller. Throws `delegation_denied`. */
export function requireAbove(by: Held, user: Access & { permissions: readonly string[] }): void {
  requireHeldPermissions(by, user.permissions);
  requireHeldAccess(by, user);
}

/** A user with either of these permissions can repair other users' mistakes; the last holder cannot be removed. */
export type Administration = { any: boolean; ofAll: boolean };

/**
 * A partner keeps a user who holds all permissions of its administrators, and one of them with all organizations; the
 * platform keeps an administrator. `others` are those that the change does not affect. Throws `last_administrator`.
 */
export function requireAdministrator(before: Administration, after: Administration, others: Administration): void {
  const lost = (kind: keyof Administration) => before[kind] && !after[kind] && !others[kind];
  if (lost("any") || lost("ofAll")) {
    throw new AppError("last_administrator", "The last administrator cannot be removed");
  }
}

const denied = (facts: Record<string, unknown>) =>
  new AppError("delegation_denied", "You cannot grant or manage what you do not hold", { facts });
