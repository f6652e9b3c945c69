import type { Permission, PortalCapability, Scope } from "@muster/kit";
import type { InterfaceRow } from "../interface-rows/all.ts";
import type { RoleKey } from "../support/users.ts";

// The access that callers have, read from docs/behaviour.md#callers-and-tenants; nothing here reads
// the tested code.

export type Kind =
  | "partner"
  | "organization"
  | "site"
  | "device"
  | "device_group"
  | "user"
  | "audit_log"
  | "audit_verification"
  | "audit_alert"
  | "audit_export"
  | "audit_stream"
  | "checkpoint"
  | "api_key"
  | "service_principal"
  | "enrollment_key"
  | "webhook"
  | "delivery"
  | "replay"
  | "dead_letter"
  | "event"
  | "role"
  | "sso_provider"
  | "sso_domain"
  | "sso_attempt"
  | "directory"
  | "scim_user"
  | "scim_group"
  | "agent_version"
  | "rollout"
  | "rollout_template"
  | "saved_view"
  | "bulk_job"
  | "portal_link";

/** `orphaned`: its organization was deleted. `ended`: decommissioned, still to be read. */
export type State = "active" | "orphaned" | "ended" | "deleted" | "missing" | "malformed";

/** Where a record is to be created. */
export type Spot = {
  relation: string;
  partnerId: string | null;
  orgId: string | null;
  siteId: string | null;
  state?: State;
};

export type Target = {
  kind: Kind;
  /** Its relation to the organization `own`. */
  relation: string;
  id: string;
  partnerId: string | null;
  orgId: string | null;
  siteId: string | null;
  /** A text of the record that only callers with access to it may see. */
  marker: string | null;
  state: State;
  /** Of what a directory has provisioned. */
  directoryId?: string;
};

export type Actor = {
  name: string;
  /** Of a user. */
  id: string | null;
  as: "user" | "key" | "agent" | "directory" | "portal" | "anonymous";
  scope: Scope;
  role: RoleKey | null;
  partnerId: string | null;
  orgId: string | null;
  /** Organizations of a partner's user. */
  orgIds: "all" | readonly string[];
  siteIds: readonly string[] | null;
  hasFactor: boolean;
  isPartnerActive: boolean;
  keyScopes: readonly string[];
  /** The device of an agent. */
  device?: Target;
  directoryId?: string;
  /** Of a portal session. */
  capabilities?: readonly PortalCapability[];
  headers: Readonly<Record<string, string>>;
};

export type Outcome = { status: number; code: string | null };

export const refused = (status: number, code: string): Outcome => ({ status, code });
export const invalid = refused(400, "validation_failed");

/** What the seeded roles of the actors lack. */
const withheld: Partial<Record<RoleKey, (permission: Permission) => boolean>> = {
  "partner-admin": (permission) => permission === "platform:admin",
  "org-admin": (permission) => ["platform:admin", "partner:policy", "agent-releases:read"].includes(permission),
  "org-viewer": (permission) =>
    !/:read$/.test(permission) || ["agent-releases:read", "directory:read"].includes(permission),
};

/** Served also to users of a partner or organization that is not active. */
const alwaysOpen = ["GET /auth/me", "POST /auth/logout"];

/**
 * The refusal before the record is looked up: 401, then 403 permission, 403 MFA, 403 scope. Null when the caller is
 * admitted.
 */
export function turnedAway(actor: Actor, row: InterfaceRow): Outcome | null {
  const key = `${row.method} ${row.path}`;
  if (actor.as === "portal") return isOpenToPortal(actor, row) ? null : refused(404, "not_found");
  if (row.auth === "directory") return actor.as === "directory" ? null : refused(401, "directory_token_invalid");
  // Its token is no session token, wherever one is read.
  if (row.auth !== "none" && actor.as === "directory") return refused(401, "unauthenticated");
  if (row.auth === "agent" && actor.as !== "anonymous") {
    return actor.as === "agent" ? null : refused(403, "agent_token_required");
  }
  if (row.auth !== "none" && actor.as === "agent") return refused(403, "user_session_required");
  if (row.auth === "optional" && actor.as === "key") return refused(403, "user_session_required");
  if (row.auth === "none" || row.auth === "optional") return null;
  if (actor.as === "anonymous") return refused(401, "unauthenticated");
  if (actor.as === "key" && key !== "GET /auth/me") {
    const scope = row.keyScopes?.[0] ?? null;
    if (scope === null) return refused(403, "user_session_required");
    const isOfAny = scope !== "audit:append";
    if (!actor.keyScopes.some((held) => held === scope || (held === "*" && isOfAny))) {
      return refused(403, "insufficient_scope");
    }
  }
  if (!actor.isPartnerActive && !alwaysOpen.includes(key)) return refused(403, "partner_inactive");
  const lacks = actor.role ? withheld[actor.role] : undefined;
  const needed = typeof row.permission === "object" ? row.permission?.[actor.scope] : row.permission;
  if (needed && lacks?.(needed)) return refused(403, "permission_denied");
  if (row.mfa && !actor.hasFactor) return refused(403, "mfa_required");
  if (!row.scopes.includes(actor.scope)) return refused(403, "scope_not_allowed");
  return null;
}

const isOpenToPortal = ({ capabilities = [] }: Actor, { auth, portal }: InterfaceRow) =>
  auth === "none" || portal === "view" || capabilities.some((capability) => capability === portal);

/** Whether a user's role lacks a permission. */
export const isWithheld = ({ role }: Actor, permission: Permission) => (role && withheld[role]?.(permission)) ?? false;

/** Seeded roles have no owner; users see those of their own scope and below. */
export const isSeeded = ({ kind, relation }: Target) => kind === "role" && relation.startsWith("seeded ");
const seededScopes: Record<Scope, readonly Scope[]> = {
  system: ["system", "partner", "organization"],
  partner: ["partner", "organization"],
  organization: ["organization"],
};

const staying: readonly Kind[] = ["audit_log", "user", "role"];
/** Kinds of the platform: visible to every caller of their routes, but for those of a partner. */
export const ofPlatform: readonly Kind[] = ["agent_version", "rollout", "rollout_template"];
/** Kinds that a directory reads and changes, of its own alone. */
export const ofDirectories: readonly Kind[] = ["scim_user", "scim_group"];
const bySite: readonly Kind[] = ["site", "device", "device_group", "bulk_job"];

/** Whether a record is within the caller's tenant, organizations and sites. */
export function hasAccess(actor: Actor, target: Target): boolean {
  if (actor.as === "directory") return target.directoryId === actor.directoryId;
  if (actor.as === "anonymous" || actor.as === "agent" || ofDirectories.includes(target.kind)) return false;
  // New rollouts name one; a partner's cannot.
  if (target.kind === "rollout_template") return actor.scope === "system";
  if (actor.scope === "system" || (ofPlatform.includes(target.kind) && target.partnerId === null)) return true;
  if (isSeeded(target)) return seededScopes[actor.scope].some((scope) => target.relation === `seeded ${scope}`);
  if (target.partnerId !== actor.partnerId) return false;
  if (target.kind === "partner") return actor.scope === "partner";
  // People and audit rows of the partner itself are its own people's.
  if (target.orgId === null) return actor.scope === "partner";
  // What is on record of a deleted organization stays with its partner.
  if (target.state === "orphaned" && !staying.includes(target.kind)) return false;
  const ownOrg = actor.scope === "organization" ? target.orgId === actor.orgId : isGranted(actor, target.orgId);
  if (!ownOrg) return false;
  if (actor.siteIds === null || !bySite.includes(target.kind)) return true;
  return target.siteId !== null && actor.siteIds.includes(target.siteId);
}

const isGranted = ({ orgIds }: Actor, orgId: string) => orgIds === "all" || orgIds.includes(orgId);

export const exists = ({ state }: Target) => state === "active" || state === "orphaned" || state === "ended";

/** The reply to a caller who names a record without access; null when it has access. */
export function withoutAccess(actor: Actor, target: Target): Outcome | null {
  if (target.state === "malformed") return invalid;
  if (exists(target) && hasAccess(actor, target)) return null;
  if (target.kind === "site" && exists(target)) return refused(403, "site_access_denied");
  return refused(404, `${target.kind}_not_found`);
}

/** Organization-wide writes, service principals, audit trails and deliveries are closed to people limited to sites. */
export function closedToSiteRestricted({ method, path }: InterfaceRow): boolean {
  if (path.startsWith("/audit-logs") || path.startsWith("/service-principals")) return true;
  if (/^\/(webhooks\/(dead-letters|:id\/(deliveries|stats))|events)/.test(path)) return true;
  if (method === "GET") return path === "/devices/history";
  if (path.startsWith("/orgs/sites")) return method !== "PATCH";
  return /^\/(users|roles|api-keys|orgs|webhooks|events|directories|sso\/(providers|domains))/.test(path);
}
