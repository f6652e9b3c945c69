import type { Spot } from "./makers.ts";
import type { Actor } from "./model.ts";
import type { Reference } from "./subjects.ts";

/** What the body of a call is made from. */
export type Ingredients = {
  actor: Actor;
  /** The caller's own place, or the record's. */
  home: Spot;
  /** New in each call. */
  name: string;
  roleIds: Readonly<Record<"platform-admin" | "partner-technician" | "org-viewer", string>>;
  deviceId: string;
  keyId: string;
  /** Where nobody listens, though webhooks may go there. */
  webhookUrl: string;
  /** The field whose value is being varied: others make room for it. */
  varied: Reference | null;
};

const timestamp = "2026-01-02T03:04:05.678Z";

/** A valid body of each row that takes one. */
const bodies: Record<string, (from: Ingredients) => Record<string, unknown>> = {
  "POST /audit-logs/verify": ({ home }) => ({ orgId: home.orgId }),
  "POST /orgs/partners": ({ name }) => ({ name, slug: name }),
  "PATCH /orgs/partners/:id": ({ name }) => ({ name }),
  "PATCH /orgs/partners/me": ({ name }) => ({ settings: { contact: { name } } }),
  "PATCH /orgs/organizations/order": ({ home }) => ({ organizationOrder: [home.orgId] }),
  "POST /orgs/organizations": ({ name, home }) => ({ name, slug: name, partnerId: home.partnerId }),
  "PATCH /orgs/organizations/:id": ({ name }) => ({ name }),
  "POST /orgs/sites": ({ name, home }) => ({ name, orgId: home.orgId }),
  "PATCH /orgs/sites/:id": ({ name }) => ({ name }),
  "PATCH /devices/:id": ({ name }) => ({ hostname: name }),
  "POST /devices/:id/approve": () => ({}),
  "POST /devices/:id/auto-update": () => ({ enabled: false }),
  "POST /device-groups": ({ name, home, actor, varied }) => ({
    name,
    orgId: home.orgId,
    ...(varied?.field === "orgId" && !actor.siteIds ? {} : { siteId: home.siteId }),
  }),
  "PATCH /device-groups/:id": ({ name }) => ({ name }),
  "POST /device-groups/:id/devices": ({ deviceId }) => ({ deviceIds: [deviceId] }),
  "DELETE /device-groups/:id/devices": ({ deviceId }) => ({ deviceIds: [deviceId] }),
  "POST /users": newUser,
  "PATCH /users/:id": ({ name }) => ({ name }),
  "POST /users/:id/disable": () => ({}),
  "POST /roles": ({ name, home, varied }) => ({
    name,
    permissions: ["devices:read"],
    ...(varied?.field === "partnerId" ? {} : { orgId: home.orgId }),
  }),
  "PATCH /roles/:id": ({ name }) => ({ description: name }),
  "POST /api-keys": ({ name, home }) => ({ name, orgId: home.orgId, scopes: ["devices:read"] }),
  "PATCH /api-keys/:id": ({ name }) => ({ name }),
  "POST /api-keys/:id/rotate": () => ({}),
  "POST /service-principals": ({ name, home }) => ({ name, orgId: home.orgId, scopes: ["devices:read"] }),
  "POST /service-principals/:id/rotate": () => ({}),
  "POST /service-principals/:id/disable": () => ({}),
  "POST /service-principals/:id/migrate-key": ({ keyId }) => ({ keyId }),
  "POST /enrollment-keys": ({ name, home, actor, varied }) => ({
    name,
    orgId: home.orgId,
    ...(varied?.field === "orgId" && !actor.siteIds ? {} : { siteId: home.siteId }),
  }),
  "POST /enrollment-keys/:id/rotate": () => ({}),
  "POST /webhooks": ({ name, home, webhookUrl }) => ({ name, orgId: home.orgId, url: webhookUrl, events: ["*"] }),
  "PATCH /webhooks/:id": ({ name }) => ({ name }),
  "POST /webhooks/:id/test": () => ({}),
  "POST /webhooks/:id/rotate-secret": () => ({}),
  "POST /webhooks/:id/replay": () => ({ since: "2020-01-01" }),
  "POST /events": ({ name, home }) => ({ type: "alert.triggered", orgId: home.orgId, data: { name } }),
  "POST /audit-logs/streams": ({ name, home }) => ({ name, orgId: home.orgId, type: "archive" }),
  "PATCH /audit-logs/streams/:id": () => ({ status: "paused" }),
  "PATCH /audit-logs/retention": ({ home }) => ({ orgId: home.orgId, retentionDays: 400 }),
  "POST /agents/:id/logs": ({ name }) => ({ logs: [{ timestamp, level: "info", component: "ws", message: name }] }),
  "PUT /agents/:id/eventlogs": ({ name }) => ({ events: [{ timestamp, source: name, message: name }] }),
  "POST /agents/:id/heartbeat": () => ({ agentVersion: "1.0.0" }),
};

/** Queries without which a row refuses. */
const queries: Record<string, Record<string, string>> = { "GET /audit-logs/search": { q: "iso-" } };

export function bodyOf(key: string, from: Ingredients): Record<string, unknown> {
  const body = bodies[key];
  if (!body) throw new Error(`${key} takes a body that nobody wrote an example of: add one to bodies.ts`);
  return body(from);
}

export const queryOf = (key: string): Record<string, string> => queries[key] ?? {};

/** A viewer of the organization; for lists of organizations and for partners, one of the partner's people. */
function newUser({ name, home, actor, varied, roleIds }: Ingredients): Record<string, unknown> {
  const person = { name, email: `${name}@example.com` };
  const isOfPartner = varied?.field === "partnerId" || varied?.field === "orgIds";
  if (isOfPartner && actor.scope !== "organization") {
    const access = varied.field === "orgIds" ? { orgAccess: "selected" } : {};
    return { ...person, partnerId: home.partnerId, roleId: roleIds["partner-technician"], ...access };
  }
  return { ...person, orgId: home.orgId, roleId: roleIds["org-viewer"] };
}
