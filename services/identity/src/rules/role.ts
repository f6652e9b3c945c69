import {
  AppError,
  type Caller,
  type FieldErrors,
  isUuid,
  longerThan,
  nameError,
  type Permission,
  permissions,
  type Scope,
  validationError,
} from "@muster/kit";
import { grantable, seededRoles } from "./catalogue.ts";
import { requireHeldPermissions } from "./delegation.ts";
import { noOrganization } from "./new-user.ts";

/** Custom roles of one partner, and of one organization. */
export const maxRoles = 500;
const maxDescription = 1000;

export type NewRole = {
  name: string;
  description: string;
  permissions: readonly Permission[];
  scope: Exclude<Scope, "system">;
  /** An organization's partner is null until it is known. */
  partnerId: string | null;
  orgId: string | null;
};

type Fields = { name: string; description: string; permissions: readonly string[] };

/**
 * The role that `by` may make. Throws `validation_failed`, `partner_id_required`, `partner_not_found`,
 * `organization_not_found`, `scope_not_allowed`, `name_taken` and `delegation_denied`.
 */
export function newRole(by: Caller, input: Fields & { scope: string; partnerId: string; orgId: string }): NewRole {
  const errors: FieldErrors = {};
  for (const field of ["partnerId", "orgId"] as const) {
    if (input[field] !== "" && !isUuid(input[field])) errors[field] = ["Must be a UUID"];
  }
  const isOfOrganization = input.orgId !== "" || by.scope === "organization";
  const scopes = isOfOrganization ? ["organization"] : ["partner", "organization"];
  const scope = (input.scope || (isOfOrganization ? "organization" : "partner")) as NewRole["scope"];
  if (!scopes.includes(scope)) errors.scope = [`One of ${scopes.join(", ")}`];
  checkFields(input, errors);
  if (Object.keys(errors).length > 0) throw validationError(errors);
  const tenant = tenantFor(by, input, isOfOrganization);
  const held = holdable(scope, input.permissions);
  requireFreeName(input.name);
  requireHeldPermissions(by, held);
  return { name: input.name, description: input.description, permissions: held, scope, ...tenant };
}

/** The masked fields of a change. Throws `no_updates`, `validation_failed` and `name_taken`. */
export function roleChange(paths: readonly string[], input: Fields): Partial<Fields> {
  const fieldNames = ["name", "description", "permissions"] as const;
  const requested = fieldNames.filter((field) => paths.includes(field));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const change: Partial<Fields> = Object.fromEntries(requested.map((field) => [field, input[field]]));
  const errors: FieldErrors = {};
  checkFields({ name: "-", description: "", permissions: [], ...change }, errors);
  if (Object.keys(errors).length > 0) throw validationError(errors);
  if (change.name !== undefined) requireFreeName(change.name);
  return change;
}

export type StoredRole = Fields & { key: string | null; scope: Scope; orgId: string | null };

/**
 * The role after the change, as `by` may make it. Throws `role_immutable`, `scope_not_allowed`, `validation_failed` and
 * `delegation_denied`.
 */
export function changedRole(by: Caller, before: StoredRole, change: Partial<Fields>): Fields {
  requireWritable(by, before);
  const permissions = change.permissions ? holdable(before.scope, change.permissions) : before.permissions;
  requireHeldPermissions(by, permissions);
  return { name: change.name ?? before.name, description: change.description ?? before.description, permissions };
}

/**
 * Whether `by` may change or remove the role at all. Throws `role_immutable`, `scope_not_allowed` and
 * `delegation_denied`.
 */
export function requireWritable(by: Caller, role: StoredRole): void {
  if (role.key !== null) throw new AppError("role_immutable", "Seeded roles cannot be changed");
  if (role.orgId === null) requireWholePartner(by);
  requireHeldPermissions(by, role.permissions);
}

/** A partner's role applies to all of its organizations; their users have it without being able to change it. */
function requireWholePartner(by: Caller): void {
  if (by.scope === "system" || (by.scope === "partner" && by.orgAccess.mode === "all")) return;
  throw new AppError("scope_not_allowed", "This operation needs access to all organizations of the partner");
}

function checkFields({ name, description, permissions: wanted }: Fields, errors: FieldErrors): void {
  const isText = (text: string) => !text.includes("\0");
  const error = nameError(name);
  if (error) errors.name = [error];
  if (longerThan(description, maxDescription) || !isText(description)) {
    errors.description = [`At most ${maxDescription} characters`];
  }
  const unknown = wanted.filter((permission) => !isPermission(permission));
  if (unknown.length > 0) errors.permissions = ["Must be permissions of the catalogue (GET /permissions)"];
}

const isPermission = (text: string): text is Permission => (permissions as readonly string[]).includes(text);

/**
 * Each permission once, in the catalogue's order. Throws `validation_failed` on a permission that no user of this scope
 * can hold.
 */
function holdable(scope: Scope, wanted: readonly string[]): Permission[] {
  const allowed = grantable(scope);
  const beyond = wanted.filter((permission) => !allowed.some((each) => each === permission));
  if (beyond.length > 0)
    throw validationError({ permissions: [`Not for roles of scope ${scope}: ${beyond.join(", ")}`] });
  return permissions.filter((permission) => wanted.includes(permission));
}

/** A custom role cannot have the name of a seeded one. */
function requireFreeName(name: string): void {
  const same = (text: string) => text.toLowerCase() === name.trim().toLowerCase();
  if (seededRoles.some((role) => same(role.key) || same(role.name))) throw nameTaken();
}

export const nameTaken = () => new AppError("name_taken", "A role of this name exists already");

function tenantFor(by: Caller, input: { partnerId: string; orgId: string }, isOfOrganization: boolean) {
  const partnerId = input.partnerId || by.partnerId;
  const orgId = isOfOrganization ? input.orgId || by.orgId : null;
  if (by.scope === "system") {
    if (partnerId === null && orgId === null) {
      throw new AppError("partner_id_required", "partnerId is required for system scope");
    }
    return { partnerId, orgId };
  }
  if (partnerId !== by.partnerId) throw new AppError("partner_not_found", "Partner not found");
  if (orgId === null) {
    requireWholePartner(by);
    return { partnerId, orgId };
  }
  const isInScope =
    by.scope === "organization"
      ? orgId === by.orgId
      : by.orgAccess.mode === "all" || by.orgAccess.orgIds.includes(orgId);
  if (!isInScope) throw noOrganization();
  return { partnerId, orgId };
}
