import { AppError, type FieldErrors, isUuid, nameError, validationError } from "@muster/kit";
import type { OrgGrant } from "./delegation.ts";
import { type Held, requireAbove } from "./delegation.ts";
import { isRoleOf, maxListed, noOrganization, orgGrants, type Role, roleNotFound } from "./new-user.ts";

/** The fields present in a change. `siteIds: null` removes the limit to sites. */
export type UserChange = {
  name?: string;
  roleId?: string;
  orgAccess?: OrgGrant;
  orgIds?: readonly string[];
  siteIds?: readonly string[] | null;
};

type Input = {
  name: string;
  roleId: string;
  orgAccess: string;
  orgIds: readonly string[];
  siteRestricted: boolean;
  siteIds: readonly string[];
};

/** The masked fields of a change. Throws `no_updates` or `validation_failed`. */
export function userChange(paths: readonly string[], input: Input): UserChange {
  const errors: FieldErrors = {};
  const change: UserChange = {};
  const idsOf = (field: string, ids: readonly string[]) => {
    if (ids.length > maxListed || !ids.every(isUuid)) errors[field] = [`At most ${maxListed} UUIDs`];
    return [...new Set(ids)].sort();
  };
  if (paths.includes("name")) {
    change.name = input.name;
    const error = nameError(input.name);
    if (error) errors.name = [error];
  }
  if (paths.includes("role_id")) {
    change.roleId = input.roleId;
    if (!isUuid(input.roleId)) errors.roleId = ["Must be a UUID"];
  }
  if (paths.includes("org_access")) {
    const grant = orgGrants.find((each) => each === input.orgAccess);
    if (grant) change.orgAccess = grant;
    else errors.orgAccess = [`One of ${orgGrants.join(", ")}`];
  }
  if (paths.includes("org_ids")) change.orgIds = idsOf("orgIds", input.orgIds);
  if (paths.includes("site_ids")) {
    if (input.siteRestricted && input.siteIds.length === 0) errors.siteIds = ["At least one, or null for no limit"];
    change.siteIds = input.siteRestricted ? idsOf("siteIds", input.siteIds) : null;
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  if (Object.keys(change).length === 0) throw new AppError("no_updates", "No updates provided");
  return change;
}

/** What a user is and has. */
export type Standing = {
  name: string;
  role: Role;
  partnerId: string | null;
  orgId: string | null;
  orgAccess: OrgGrant;
  orgIds: readonly string[];
  /** Null when not limited. */
  siteIds: readonly string[] | null;
};

/**
 * The user after the change that `by` makes: before and after, the user has no more permissions than `by`. Throws
 * `validation_failed`, `role_not_found`, `organization_not_found` and `delegation_denied`.
 */
export function changedUser(by: Held, before: Standing, change: UserChange, newRole: Role | null): Standing {
  const { scope } = before.role;
  requireAbove(by, { ...before, permissions: before.role.permissions });
  const errors: FieldErrors = {};
  const role = change.roleId === undefined ? before.role : newRole;
  if (role === null) throw roleNotFound();
  if (role.scope !== scope) errors.roleId = [`Must be a role of scope ${scope}`];
  if (scope !== "partner") {
    if (change.orgAccess !== undefined) errors.orgAccess = ["For partner users only"];
    if (change.orgIds !== undefined) errors.orgIds = ["For partner users only"];
  }
  if (scope === "system" && change.siteIds != null) errors.siteIds = ["Not for system users"];
  const orgAccess = change.orgAccess ?? (change.orgIds === undefined ? before.orgAccess : "selected");
  const wantedIds = change.orgIds ?? [];
  if (wantedIds.length > 0 && orgAccess !== "selected") errors.orgIds = ['Only with orgAccess "selected"'];
  if (Object.keys(errors).length > 0) throw validationError(errors);
  const orgIds = orgAccess === "selected" ? (change.orgIds ?? before.orgIds) : [];
  const siteIds = change.siteIds === undefined ? before.siteIds : change.siteIds;
  const after = { ...before, name: change.name ?? before.name, role, orgAccess, orgIds, siteIds };
  if (!isRoleOf(role, before)) throw roleNotFound();
  // Out of the caller's scope counts as missing.
  if (by.scope === "partner" && by.orgAccess.mode === "list") {
    const { orgIds: own } = by.orgAccess;
    if (!wantedIds.every((id) => own.includes(id))) throw noOrganization();
  }
  requireAbove(by, { ...after, permissions: role.permissions });
  return after;
}
