import {
  type Actor,
  closedToSiteRestricted,
  exists,
  hasAccess,
  invalid,
  isSeeded,
  isWithheld,
  type Outcome,
  ofDirectories,
  ofPlatform,
  refused,
  type Spot,
  type Target,
  withoutAccess,
} from "./model.ts";
import type { Reference, Subject } from "./subjects.ts";
import type { World } from "./targets.ts";

/** A call of an actor to a route, for one record or none. */
export type Call = { actor: Actor; subject: Subject; target: Target | null };

/** Routes that query the device; none of these devices has a connected agent. */
const live = /\/eventlogs\/:name|\/system-tools\//;

/** The reply to an entitled caller: live logs report an offline device, a channel requires a WebSocket. */
export function successOf({ route, key }: Subject): Outcome {
  if (live.test(route.path)) return refused(503, "device_offline");
  // No organization has a provider, and no provider of these tests an issuer.
  if (route.path.startsWith("/sso/login/")) return refused(404, "sso_not_configured");
  if (key === "GET /sso/saml/metadata/:providerId") return refused(404, "sso_provider_not_found");
  if (key === "POST /sso/providers/:id/test") return refused(409, "sso_incomplete_provider");
  // No organization has the type of the example.
  if (key === "PATCH /webhooks/event-types") return refused(404, "event_type_not_found");
  // These providers are of OpenID Connect, which has no key of ours.
  if (key === "POST /sso/providers/:id/keys") return refused(400, "validation_failed");
  if (route.path.startsWith("/sso/link/") && key !== "GET /sso/link/options") {
    return refused(404, "sso_provider_not_found");
  }
  // No device has the host name that it searches.
  if (key === "POST /devices/bulk-jobs") return refused(409, "device_count_changed");
  if (key === "PATCH /scim/v2/Groups/:id") return { status: 204, code: null };
  if (key === "GET /agents/:id/channel") return refused(426, "upgrade_required");
  return { status: route.status ?? 200, code: null };
}

/** An agent acts for its own device; all others are 404 for it. */
export function onOwnDevice(actor: Actor, subject: Subject, target: Target): Outcome {
  if (target.state === "malformed") return invalid;
  return target.id === actor.device?.id ? successOf(subject) : refused(404, "agent_not_found");
}

/** What an empty body comes to on rows that are open to all; null for those that take none. */
export function onNothing(actor: Actor, { key, route }: Subject): Outcome | null {
  // Without a sign-in to complete it is about the caller's own session; the actors have TOTP, if any.
  if (key === "POST /auth/mfa/passkeys/authenticate/options") {
    return actor.as === "anonymous" ? refused(401, "unauthenticated") : refused(409, "mfa_not_enabled");
  }
  // No id of these tests is a name of the schema.
  if (/^GET \/scim\/v2\/(ResourceTypes|Schemas)\/:id$/.test(key)) return refused(404, "scim_resource_not_found");
  if (/^GET \/agents\/download\/:os\/:arch(\/manifest)?$/.test(key)) return refused(404, "agent_version_not_found");
  // It reads the browser's cookie, which none of these has.
  if (key === "POST /auth/refresh") return refused(401, "invalid_refresh_token");
  // Whatever is wrong, a browser is sent to the sign-in page.
  if (key === "POST /sso/saml/acs") return { status: 303, code: null };
  if (key === "POST /agent-versions/sync-:source") return refused(404, "release_source_not_found");
  return route.method === "GET" ? null : invalid;
}

/** Settings of a partner that bind all of its organizations. */
const ofWholePartner = ["PUT /orgs/partners/me/agent-updates", "PUT /orgs/partners/me/sign-in-policy"];

/** The reply to an empty body, or to an unknown id, on the caller's own session; null for routes that take neither. */
export function onOneself(actor: Actor, { route, key }: Subject): Outcome | null {
  if (ofWholePartner.includes(key) && actor.orgIds !== "all") return refused(403, "scope_not_allowed");
  if (!route.path.startsWith("/auth/")) return null;
  if (route.body) return route.method === "PATCH" ? refused(400, "no_updates") : invalid;
  if (!route.path.endsWith("/:id")) return null;
  return refused(404, route.path.includes("/passkeys/") ? "passkey_not_found" : "session_not_found");
}

/** Lists of one organization, which partner and system callers name. */
const listsOfOne = ["GET /webhooks", "GET /events", "GET /audit-logs/streams"];
export const lackingContext = ({ key }: Subject, { scope }: Actor) =>
  listsOfOne.includes(key) && scope !== "organization" ? refused(400, "organization_context_required") : null;

export function closedTo(actor: Actor, { needs, key }: Subject): Outcome | null {
  if (actor.siteIds !== null && closedToSiteRestricted(needs)) return refused(403, "site_restricted");
  // A partner's rollout may reach all of its organizations.
  const isOfPartner = key === "POST /agent-versions/rollouts" && actor.scope === "partner";
  return isOfPartner && actor.orgIds !== "all" ? refused(403, "scope_not_allowed") : null;
}

/** The refusal of reading or changing a record; null when the call is allowed. */
export function onRecord(actor: Actor, subject: Subject, target: Target): Outcome | null {
  if (ofDirectories.includes(target.kind)) {
    return exists(target) && hasAccess(actor, target) ? null : refused(404, "scim_resource_not_found");
  }
  if (target.state === "malformed") return invalid;
  const away = closedTo(actor, subject) ?? withoutAccess(actor, target);
  if (away) return away;
  const { method } = subject.route;
  const ends = method === "DELETE" || subject.key === "POST /devices/bulk-decommission";
  if (target.state === "ended" && method !== "GET" && !ends) return refused(409, `${target.kind}_decommissioned`);
  if (target.kind === "role" && method !== "GET") {
    if (isSeeded(target)) return refused(409, "role_immutable");
    // A partner's role applies to all of its organizations.
    if (target.orgId === null && actor.scope === "partner" && actor.orgIds !== "all")
      return refused(403, "scope_not_allowed");
  }
  if (target.kind === "rollout" && method !== "GET") {
    // A partner reads the platform's.
    if (target.partnerId === null && actor.scope === "partner") return refused(404, "rollout_not_found");
    if (actor.scope === "partner" && actor.orgIds !== "all") return refused(403, "scope_not_allowed");
    if (subject.key === "POST /agent-versions/rollouts/:id/complete" && target.partnerId !== null) return invalid;
  }
  // No spare device is quarantined.
  if (subject.key === "POST /devices/:id/reject" && target.state === "orphaned") {
    return refused(409, "device_not_quarantined");
  }
  // A view that is shared, as these are, belongs to the whole organization.
  if (target.kind === "saved_view" && method !== "GET") {
    if (isWithheld(actor, "organizations:write")) return refused(403, "permission_denied");
    if (actor.siteIds !== null) return refused(403, "site_restricted");
  }
  // Users limited to sites may change the keys of their own sites only; they see the others.
  const isSiteKey = target.kind === "enrollment_key" && method !== "GET" && actor.siteIds !== null;
  return isSiteKey && !actor.siteIds?.includes(String(target.siteId)) ? refused(403, "site_restricted") : null;
}

/** Lists of all organizations in scope that are narrowed to a site, a group or a webhook: they answer as that does. */
const byRecord: Record<string, readonly string[]> = {
  "GET /devices": ["siteId", "groupId"],
  "GET /devices/summary": ["siteId", "groupId"],
  "GET /devices/changes": ["siteId"],
  "GET /devices/metrics": ["siteId", "groupId"],
  "GET /device-groups": ["siteId"],
  "GET /webhooks/dead-letters": ["webhookId"],
};

/** The outcome of naming a record in a field. */
export function naming(world: World, call: Call, reference: Reference, target: Target, otherwise: Outcome): Outcome {
  const { actor, subject } = call;
  const { key } = subject;
  if (target.state === "malformed") return invalid;
  // Where success is a refusal, such as of a type that nobody has, the tenant is looked for first.
  if (otherwise.status >= 400 && otherwise.code !== successOf(subject).code) return otherwise;
  if (reference.kind !== "organization") {
    const lacking = lackingContext(subject, actor);
    if (lacking) return lacking;
  }
  if (key === "POST /directories" && !hasOrganization(actor, homeOf(world, actor).orgId)) {
    return refused(404, "organization_not_found");
  }
  if (reference.kind === "role") return giving(world, call, target, otherwise);
  // Only system callers' providers and domains of partners name one.
  if (/^POST \/(sso\/(providers|domains)|directories)$/.test(key) && reference.field === "partnerId") {
    const { orgId } = homeOf(world, actor);
    return hasOrganization(actor, orgId) ? otherwise : refused(404, "organization_not_found");
  }
  if (key === "PATCH /users/:id") return granting(call, reference, target, otherwise);
  // Ids that are unknown or outside of the access scope are dropped.
  if (key === "PATCH /orgs/organizations/order") return otherwise;
  if (byRecord[key]?.includes(reference.field)) {
    return withoutAccess(actor, target) ? refused(404, `${target.kind}_not_found`) : otherwise;
  }
  if (key === "POST /orgs/organizations" && actor.scope === "partner") {
    if (target.partnerId !== actor.partnerId) return refused(403, "partner_access_denied");
    return actor.orgIds === "all" ? otherwise : refused(403, "scope_not_allowed");
  }
  if (key === "POST /roles") {
    const isThere = target.state === "active" && hasAccess(actor, target);
    const isWholePartner = target.kind === "partner" && actor.scope === "partner" && actor.orgIds !== "all";
    if (isThere && isWholePartner) return refused(403, "scope_not_allowed");
    if (isThere || (target.id === actor.partnerId && actor.scope === "organization")) return otherwise;
    return refused(404, `${target.kind}_not_found`);
  }
  if (key === "POST /users") return inviting(world, actor, reference, target, otherwise);
  const isWholeKey = key === "POST /enrollment-keys" && reference.field === "siteId" && actor.siteIds !== null;
  if (isWholeKey && !actor.siteIds?.includes(target.id)) return refused(403, "site_restricted");
  const home = call.target ?? homeOf(world, actor);
  const isTenant = target.kind === "partner" || target.kind === "organization";
  if (subject.shape === "create" && !isTenant && !hasOrganization(actor, home.orgId)) {
    return refused(404, "organization_not_found");
  }
  // Platform administrators read what deleted organizations left behind.
  const reads = subject.route.method === "GET" || /^POST \/audit-logs\/(verify|exports)$/.test(key);
  const isReadDeleted = target.kind === "organization" && target.state === "deleted" && reads;
  const isFound = exists(target) || (isReadDeleted && actor.scope === "system");
  const isElsewhere = !isTenant && !ofPlatform.includes(target.kind) && target.orgId !== home.orgId;
  if (isFound && hasAccess(actor, target) && !isElsewhere) {
    if (subject.shape === "record" && isTenant && target.orgId !== home.orgId)
      return refused(404, `${subject.kind}_not_found`);
    return otherwise;
  }
  // System callers have everything in scope: a record that they do not find is missing.
  if (key.endsWith(" /orgs/sites") && actor.scope !== "system") return refused(403, "organization_access_denied");
  return refused(404, `${target.kind}_not_found`);
}

/** A role for a user: one of their tenant, for users of their scope. */
function giving(world: World, { actor, target: user }: Call, role: Target, otherwise: Outcome): Outcome {
  if (!exists(role) || !hasAccess(actor, role)) return refused(404, "role_not_found");
  const { orgId, partnerId } = user ?? homeOf(world, actor);
  const scope = orgId !== null ? "organization" : partnerId !== null ? "partner" : "system";
  const roleScope = isSeeded(role) ? role.relation.split(" ")[1] : role.orgId === null ? "partner" : "organization";
  if (roleScope !== scope) return invalid;
  if (!user && !hasOrganization(actor, orgId)) return refused(404, "organization_not_found");
  const isOfTenant = isSeeded(role) || (role.orgId === orgId && role.partnerId === partnerId);
  return isOfTenant ? otherwise : refused(404, "role_not_found");
}

/** The outcome of granting organizations and sites to an existing user. */
function granting({ actor, target: user }: Call, { field }: Reference, target: Target, otherwise: Outcome): Outcome {
  const isActive = target.state === "active" && hasAccess(actor, target);
  // The platform's people have everything.
  if (user?.partnerId == null) return invalid;
  if (field === "orgIds") {
    if (user.orgId !== null) return invalid;
    const isOwn = isActive && target.partnerId === user.partnerId;
    return isOwn ? otherwise : refused(404, "organization_not_found");
  }
  return isActive && target.orgId === user.orgId ? otherwise : refused(404, "site_not_found");
}

function inviting(world: World, actor: Actor, { field }: Reference, target: Target, otherwise: Outcome): Outcome {
  const home = homeOf(world, actor);
  const there = target.state === "active" && hasAccess(actor, target);
  if (field === "orgIds" && actor.scope === "organization") return invalid;
  if (field === "partnerId") {
    const isOwn = target.state === "active" && (actor.scope === "system" || target.id === actor.partnerId);
    return isOwn ? otherwise : refused(404, "partner_not_found");
  }
  if (field === "orgIds")
    return there && target.partnerId === home.partnerId ? otherwise : refused(404, "organization_not_found");
  if (field === "siteIds") {
    if (!hasOrganization(actor, home.orgId)) return refused(404, "organization_not_found");
    return there && target.orgId === home.orgId ? otherwise : refused(404, "site_not_found");
  }
  return there ? otherwise : refused(404, `${target.kind}_not_found`);
}

const hasOrganization = (actor: Actor, orgId: string | null) =>
  actor.scope !== "partner" || actor.orgIds === "all" || actor.orgIds.includes(String(orgId));

/** The spot of the records that an actor names when nothing else is being tried. */
export function homeOf({ spots }: World, { orgId, partnerId }: Actor): Spot {
  const all = [spots.own, spots.sibling, spots.other, spots.suspended];
  return all.find((s) => s.orgId === orgId) ?? all.find((s) => s.partnerId === partnerId) ?? spots.own;
}
