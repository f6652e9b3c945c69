import { AppError, type Caller } from "@muster/kit";

/** What somebody may do and where: of a person who has it, or of one who gives it. */
export type Held = Pick<Caller, "scope" | "orgAccess" | "permissions">;

export type OrgGrant = "all" | "selected" | "none";

/** Organizations that a person of a partner has, or is to have. */
export type Access = { orgAccess: OrgGrant; orgIds: readonly string[] };

/** Nobody gives a permission that they do not hold. Throws `delegation_denied`. */
export function requireHeldPermissions(by: Pick<Held, "permissions">, permissions: readonly string[]): void {
  const missing = permissions.filter((permission) => !by.permissions.includes(permission));
  if (missing.length > 0) throw denied({ permissions: missing });
}

/** Nobody gives more organizations than they have. Throws `delegation_denied`. */
export function requireHeldAccess(by: Held, { orgAccess, orgIds }: Access): void {
  if (by.scope !== "partner" || by.orgAccess.mode === "all") return;
  if (orgAccess === "all") throw denied({ permissions: [], orgAccess });
  const { orgIds: own } = by.orgAccess;
  const wider = orgAccess === "selected" ? orgIds.filter((id) => !own.includes(id)) : [];
  if (wider.length > 0) throw denied({ permissions: [], orgIds: wider });
}

/** Nobody manages a person who has more than they do themselves. Throws `delegation_denied`. */
export function requireAbove(by: Held, person: Access & { permissions: readonly string[] }): void {
  requireHeldPermissions(by, person.permissions);
  requireHeldAccess(by, person);
}

/** A person with either of these can mend what others broke; none is lost with the last who has it. */
export type Administration = { any: boolean; ofAll: boolean };

/**
 * A partner keeps somebody who holds all that its administrators hold, and somebody of them with all organizations; the
 * platform keeps an administrator. `others` are those that the change leaves alone. Throws `last_administrator`.
 */
export function requireAdministrator(before: Administration, after: Administration, others: Administration): void {
  const lost = (kind: keyof Administration) => before[kind] && !after[kind] && !others[kind];
  if (lost("any") || lost("ofAll")) {
    throw new AppError("last_administrator", "The last administrator cannot be removed");
  }
}

const denied = (facts: Record<string, unknown>) =>
  new AppError("delegation_denied", "You cannot grant or manage what you do not hold", { facts });
