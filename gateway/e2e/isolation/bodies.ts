import { exampleOf } from "../../src/openapi/examples.ts";
import { routes } from "../../src/routes/index.ts";
import type { Actor, Spot } from "./model.ts";
import { registeredVersion, releaseBody } from "./releases.ts";
import type { Reference } from "./subjects.ts";

/** The input for the body of a call. */
export type Ingredients = {
  actor: Actor;
  /** The caller's own tenant, or the record's. */
  home: Spot;
  /** A name that is new in each call. */
  name: string;
  roleIds: Readonly<Record<"platform-admin" | "partner-technician" | "org-viewer", string>>;
  deviceId: string;
  keyId: string;
  /** An address without a listener that webhooks may use. */
  webhookUrl: string;
  /** The field whose value is being varied: others make room for it. */
  varied: Reference | null;
};

/** Replacements for the fields of an example, at any depth. */
const fillers: Record<string, (from: Ingredients) => unknown> = {
  name: ({ name }) => name,
  slug: ({ name }) => name,
  description: ({ name }) => name,
  hostname: ({ name }) => name,
  source: ({ name }) => name,
  message: ({ name }) => name,
  email: ({ name }) => `${name}@example.com`,
  partnerId: ({ home }) => home.partnerId,
  orgId: ({ home }) => home.orgId,
  organizationOrder: ({ home }) => [home.orgId],
  deviceIds: ({ deviceId }) => [deviceId],
  keyId: ({ keyId }) => keyId,
  url: ({ webhookUrl }) => webhookUrl,
};

/** Bodies that depend on the caller, and on the field that is varied. */
const bodies: Record<string, (from: Ingredients) => Record<string, unknown>> = {
  "POST /agent-versions": ({ name }) => releaseBody(name),
  "POST /agent-versions/rollouts": () => ({ component: "helper", version: registeredVersion, percent: 1 }),
  "POST /agent-versions/rollout-templates": ({ name }) => ({ name, percent: 10 }),
  "PUT /agent-versions/rollout-templates/:id": ({ name }) => ({ name, percent: 20 }),
  "POST /agent-versions/rollouts/preview": () => ({ rings: [{ name: "Linux", os: ["linux"] }] }),
  "PATCH /agent-versions/rollouts/:id": () => ({ percent: 50 }),
  "PUT /orgs/partners/me/agent-updates": () => ({ windowStart: "01:00" }),
  // Required, it would refuse what other actors do in the same tenants.
  "PUT /orgs/partners/me/sign-in-policy": () => ({ requireSecondFactor: false }),
  "PUT /orgs/organizations/:id/sign-in-policy": () => ({ requireSecondFactor: false }),
  "PUT /orgs/organizations/:id/agent-updates": () => ({ windowStart: "01:00", windowEnd: "05:00" }),
  "POST /webhooks/event-types": ({ name, home }) => ({ orgId: home.orgId, ...ownType(name) }),
  "POST /device-groups": ofSite,
  "POST /enrollment-keys": ofSite,
  "POST /users": newUser,
  // Without an issuer, which would be asked.
  "POST /sso/providers": ({ name, home }) => ({ name, orgId: home.orgId, type: "oidc" }),
  "PATCH /sso/providers/:id": ({ name }) => ({ name }),
  "POST /sso/providers/:id/status": () => ({ status: "testing" }),
  "POST /sso/domains": ({ name, home }) => ({ domain: `${name}.example`, orgId: home.orgId }),
  "POST /directories": ({ name, home }) => ({ name, orgId: home.orgId }),
  "PUT /directories/:id/mappings": () => ({ mappings: [] }),
  // Of users alone: the model lists one kind.
  "POST /scim/v2/.search": () => ({ filter: "userName pr" }),
  "POST /scim/v2/Users/.search": () => ({ filter: "id pr" }),
  "POST /scim/v2/Groups/.search": () => ({ filter: "id pr" }),
  "POST /scim/v2/Users": ({ name }) => ({ userName: name }),
  "PUT /scim/v2/Users/:id": ({ name }) => ({ userName: name }),
  "PATCH /scim/v2/Users/:id": ({ name }) => ({ Operations: [{ op: "replace", path: "title", value: name }] }),
  "POST /scim/v2/Groups": ({ name }) => ({ displayName: name }),
  "PUT /scim/v2/Groups/:id": ({ name }) => ({ displayName: name }),
  "PATCH /scim/v2/Groups/:id": ({ name }) => ({ Operations: [{ op: "replace", path: "displayName", value: name }] }),
  "POST /directories/:id/status": () => ({ status: "paused" }),
  "POST /audit-logs/alerts": ({ name, home }) => ({
    name,
    orgId: home.orgId,
    template: "sso-disabled",
    notify: { webhook: true },
  }),
  "POST /devices/bulk-jobs": ({ name }) => ({ filter: { search: name }, expectedCount: 1, action: "approve" }),
  "POST /saved-views": ({ name, home }) => ({ name, orgId: home.orgId, resource: "devices", query: {} }),
  "POST /roles": ({ name, home, varied }) => ({
    name,
    permissions: ["devices:read"],
    ...(varied?.field === "partnerId" ? {} : { orgId: home.orgId }),
  }),
};

/** Queries without which a row refuses, or takes minutes. */
const queries: Record<string, Record<string, string>> = {
  "GET /audit-logs/search": { q: "iso-" },
  "GET /devices/changes": { seconds: "0" },
};

/** A valid body of a row: the example of the OpenAPI document, with ids and names of the run. */
export function bodyOf(key: string, from: Ingredients): Record<string, unknown> {
  const special = bodies[key];
  if (special) return special(from);
  const row = routes.find(({ method, path }) => `${method} ${path}` === key);
  if (!row) throw new Error(`no row is ${key}`);
  return filled(exampleOf(row) ?? {}, from) as Record<string, unknown>;
}

function filled(example: unknown, from: Ingredients): unknown {
  if (Array.isArray(example)) return example.map((item) => filled(item, from));
  if (typeof example !== "object" || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([field, value]) => [field, fillers[field]?.(from) ?? filled(value, from)]),
  );
}

export const queryOf = (key: string): Record<string, string> => queries[key] ?? {};

const ownType = (name: string) => ({
  type: `custom.${name.toLowerCase().replace(/[^a-z0-9]/g, "_")}`,
  description: name,
});

function ofSite({ name, home, actor, varied }: Ingredients): Record<string, unknown> {
  const site = varied?.field === "orgId" && !actor.siteIds ? {} : { siteId: home.siteId };
  return { name, orgId: home.orgId, ...site };
}

/** A viewer of the organization; for lists of organizations and for partners, one of the partner's people. */
function newUser({ name, home, actor, varied, roleIds }: Ingredients): Record<string, unknown> {
  const user = { name, email: `${name}@example.com` };
  const isOfPartner = varied?.field === "partnerId" || varied?.field === "orgIds";
  if (isOfPartner && actor.scope !== "organization") {
    const access = varied.field === "orgIds" ? { orgAccess: "selected" } : {};
    return { ...user, partnerId: home.partnerId, roleId: roleIds["partner-technician"], ...access };
  }
  return { ...user, orgId: home.orgId, roleId: roleIds["org-viewer"] };
}
