import { AppError, type Caller, type FieldErrors, isUuid, nameError, type Scope, validationError } from "@muster/kit";
import { type OrgGrant, requireHeldAccess, requireHeldPermissions } from "./delegation.ts";

export type Role = {
  id: string;
  scope: Scope;
  permissions: readonly string[];
  partnerId: string | null;
  orgId: string | null;
};

/** A user as invited. An organization user's partner is its organization's: null until that is known. */
export type NewUser = {
  email: string;
  name: string;
  scope: Scope;
  partnerId: string | null;
  orgId: string | null;
  roleId: string;
  orgAccess: OrgGrant;
  orgIds: readonly string[];
  siteIds: readonly string[];
};

export type InviteInput = {
  email: string;
  name: string;
  partnerId: string;
  orgId: string;
  orgAccess: string;
  orgIds: readonly string[];
  siteIds: readonly string[];
};

export const orgGrants: readonly OrgGrant[] = ["all", "selected", "none"];
/** As many as a caller token lists (libs/rpc). */
export const maxListed = 500;

/**
 * The user that this caller may invite with this role; the caller must hold all granted permissions. Throws
 * `validation_failed`, `site_restricted`, `delegation_denied`, `role_not_found`, `partner_not_found` and
 * `organization_not_found`.
 */
export function newUser(caller: Caller, input: InviteInput, role: Role): NewUser {
  if (caller.siteIds !== null) throw new AppError("site_restricted", "Your access is restricted to sites");
  const scope = wantedScope(caller, input);
  const errors: FieldErrors = {};
  const orgIds = [...new Set(input.orgIds)];
  const siteIds = [...new Set(input.siteIds)];
  const orgAccess = wantedGrant(scope, input.orgAccess, orgIds);
  if (!/^[^\s@]+@[^\s@]+$/.test(input.email) || input.email.length > 255) errors.email = ["An e-mail address"];
  const error = nameError(input.name);
  if (error) errors.name = [error];
  for (const field of ["partnerId", "orgId"] as const) {
    if (input[field] !== "" && !isUuid(input[field])) errors[field] = ["Must be a UUID"];
  }
  if (!orgAccess)
    errors.orgAccess = [scope === "partner" ? `One of ${orgGrants.join(", ")}` : "For partner users only"];
  if (orgIds.length > 0 && orgAccess !== "selected") errors.orgIds = ['Only with orgAccess "selected"'];
  if (siteIds.length > 0 && scope === "system") errors.siteIds = ["Not for system users"];
  for (const [field, ids] of Object.entries({ orgIds, siteIds })) {
    if (ids.length > maxListed || !ids.every(isUuid)) errors[field] = [`At most ${maxListed} UUIDs`];
  }
  if (role.scope !== scope) errors.roleId = [`Must be a role of scope ${scope}`];
  if (!orgAccess || Object.keys(errors).length > 0) throw validationError(errors);

  const { partnerId, orgId } = tenant(caller, scope, input);
  if (!isRoleOf(role, { partnerId, orgId })) throw roleNotFound();
  requireHeldPermissions(caller, role.permissions);
  requireHeldAccess(caller, { orgAccess, orgIds: [] });
  const { email, name } = input;
  return { email, name, scope, partnerId, orgId, roleId: role.id, orgAccess, orgIds, siteIds };
}

/** The tenant named, else the caller's own. */
function wantedScope(caller: Caller, input: InviteInput): Scope {
  if (input.orgId !== "") return "organization";
  return input.partnerId !== "" && caller.scope !== "organization" ? "partner" : caller.scope;
}

function wantedGrant(scope: Scope, orgAccess: string, orgIds: readonly string[]): OrgGrant | null {
  if (scope !== "partner") return orgAccess === "" ? (scope === "system" ? "all" : "none") : null;
  if (orgAccess === "") return orgIds.length > 0 ? "selected" : "none";
  return orgGrants.find((grant) => grant === orgAccess) ?? null;
}

/** The tenant of the new user; a tenant out of the caller's scope counts as missing. */
function tenant(caller: Caller, scope: Scope, input: InviteInput): Pick<NewUser, "partnerId" | "orgId"> {
  const partnerId = input.partnerId || (scope === "system" ? null : caller.partnerId);
  const orgId = scope === "organization" ? input.orgId || caller.orgId : null;
  if (caller.scope === "system") return { partnerId, orgId };
  if (partnerId !== caller.partnerId) throw new AppError("partner_not_found", "Partner not found");
  if (caller.scope === "organization") {
    if (orgId !== caller.orgId) throw noOrganization();
    return { partnerId, orgId };
  }
  const { orgAccess } = caller;
  const inScope = (id: string) => orgAccess.mode === "all" || orgAccess.orgIds.includes(id);
  if (orgId !== null && !inScope(orgId)) throw noOrganization();
  if (!input.orgIds.every(inScope)) throw noOrganization();
  return { partnerId, orgId };
}

/**
 * Seeded roles are available to all; a tenant's own role is for its own users. An unknown partner is checked once it is
 * known.
 */
export function isRoleOf(
  role: Pick<Role, "partnerId" | "orgId">,
  tenant: Pick<NewUser, "partnerId" | "orgId">,
): boolean {
  if (role.orgId && role.orgId !== tenant.orgId) return false;
  return !role.partnerId || !tenant.partnerId || role.partnerId === tenant.partnerId;
}

export const roleNotFound = () => new AppError("role_not_found", "Role not found");
export const noOrganization = () => new AppError("organization_not_found", "Organization not found");
