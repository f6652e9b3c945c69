import { z } from "zod";
import { fullPath, type Route } from "../../src/route/route.ts";
import { additionalRows, type InterfaceRow, interfaceRows } from "../interface-rows/all.ts";
import type { Kind } from "./model.ts";

/** A field that names a record: of the path, the query or the body; `many` when it is a list. */
export type Reference = { field: string; within: "params" | "query" | "body"; kind: Kind; many: boolean };

/** What a route is about. */
export type Subject = {
  /** As `POST /orgs/sites/:id`, without the API's prefix. */
  key: string;
  route: Route;
  needs: InterfaceRow;
  /**
   * `self`: the caller's own session or partner. `open`: no tenant's data. `agent`: the device of the agent that calls.
   * `several`: records that the body names, each answered on its own.
   */
  shape: "open" | "self" | "list" | "create" | "record" | "agent" | "several";
  kind: Kind | null;
  references: Reference[];
};

const collections: Record<string, Kind> = {
  "/orgs/partners": "partner",
  "/orgs/organizations": "organization",
  "/orgs/sites": "site",
  "/devices": "device",
  "/devices/bulk-jobs": "bulk_job",
  "/device-groups": "device_group",
  "/users": "user",
  "/roles": "role",
  "/audit-logs/logs": "audit_log",
  "/audit-logs/verify": "audit_verification",
  "/audit-logs/alerts": "audit_alert",
  "/audit-logs/exports": "audit_export",
  "/audit-logs/streams": "audit_stream",
  "/api-keys": "api_key",
  "/service-principals": "service_principal",
  "/enrollment-keys": "enrollment_key",
  "/webhooks": "webhook",
  "/webhooks/dead-letters": "dead_letter",
  "/webhooks/portal-links": "portal_link",
  "/events": "event",
  "/sso/providers": "sso_provider",
  "/sso/domains": "sso_domain",
  "/sso/attempts": "sso_attempt",
  "/directories": "directory",
  "/scim/v2/Users": "scim_user",
  "/scim/v2/Groups": "scim_group",
  "/agent-versions": "agent_version",
  "/agent-versions/rollouts": "rollout",
  "/agent-versions/rollout-templates": "rollout_template",
  "/saved-views": "saved_view",
};

/** Lists whose path is not that of a collection. */
const otherLists: Record<string, Kind> = {
  "GET /orgs": "organization",
  "GET /attention": "device",
  "GET /devices/summary": "device",
  "GET /devices/changes": "device",
  "GET /devices/metrics": "device",
  "GET /devices/history": "device",
  "GET /webhooks/all": "webhook",
  "GET /audit-logs": "audit_log",
  "GET /audit-logs/search": "audit_log",
  "GET /audit-logs/checkpoints": "checkpoint",
  "GET /audit-logs/export": "audit_log",
  "GET /audit-logs/reports/categories": "audit_log",
  "GET /audit-logs/reports/user-activity": "audit_log",
  "GET /audit-logs/reports/security-events": "audit_log",
  "GET /audit-logs/reports/compliance": "audit_log",
  "GET /audit-logs/reports/sign-ins": "audit_log",
  "POST /scim/v2/.search": "scim_user",
  "POST /scim/v2/Users/.search": "scim_user",
  "POST /scim/v2/Groups/.search": "scim_group",
};

/** Rows about one organization that the call names: tried with each of them, as creations are. */
const ofOrganization: Record<string, Kind> = {
  "GET /audit-logs/retention": "audit_log",
  "PATCH /audit-logs/retention": "audit_log",
  "POST /audit-logs/events": "audit_log",
  "POST /webhooks/event-types": "webhook",
  "PATCH /webhooks/event-types": "webhook",
};

/** Rows about the caller's own partner, and rows that answer every caller alike. */
const selfRows = [
  "GET /orgs/partners/me",
  "PATCH /orgs/partners/me",
  "PATCH /orgs/organizations/order",
  "GET /partners/me/login-branding",
  "PUT /partners/me/login-branding",
  "GET /sso/link/options",
  "POST /sso/link/start/:providerId",
  "DELETE /sso/link/:providerId",
  "GET /orgs/partners/me/agent-updates",
  "PUT /orgs/partners/me/agent-updates",
  "GET /orgs/partners/me/sign-in-policy",
  "PUT /orgs/partners/me/sign-in-policy",
];

/** Answer for each of several devices; e2e/devices/bulk.test.ts looks at their audit rows. */
export const ofSeveralDevices = [
  "POST /devices/bulk-update",
  "POST /devices/bulk-decommission",
  "POST /devices/bulk-review",
];

const openRows = [
  // Without ids; gateway/e2e/tenants/names.test.ts names some.
  "GET /names",
  "GET /agents/downloads",
  "GET /platform/status",
  "GET /platform/log-usage",
  "GET /sso/presets",
  "GET /directories/presets",
  "GET /permissions",
  "GET /api-keys/scopes",
  "GET /webhooks/event-types",
  "GET /agent-versions",
  "GET /agent-versions/rollouts",
  "GET /agent-versions/rollout-templates",
  "POST /agent-versions/promote",
  "POST /agent-versions/rollouts/preview",
  "POST /agent-versions/sync-:source",
];

/**
 * Ids that machines assign or rows report, none of which is looked up as a record; of links to providers a caller has
 * only its own.
 */
const notOurs = [
  // Only narrows a list of devices in the access scope: one of another tenant finds none.
  "enrollmentKeyId",
  "hardwareId",
  "eventId",
  "recordId",
  "actorId",
  "resourceId",
  "providerId",
  "clientId",
  "samlEntityId",
  "groupIds",
  // Mails go to those of them who may read the webhook (services/identity/src/rpc/notification.test.ts).
  "notifyUserIds",
  "externalId",
  "mappingId",
  "viewId",
  // Only narrows audit rows of the chain that is read.
  "sessionId",
];

/** What SCIM says of itself. */
const describesScim = /^\/scim\/v2\/(ServiceProviderConfig|ResourceTypes|Schemas)/;

/** These routes name the device by another parameter than `id`. */
const liveFamily = /^\/system-tools\/devices\/:deviceId\//;

const referenced: Record<string, Kind> = {
  partnerId: "partner",
  orgId: "organization",
  organizationId: "organization",
  orgIds: "organization",
  organizationOrder: "organization",
  siteId: "site",
  siteIds: "site",
  groupId: "device_group",
  deviceId: "device",
  deviceIds: "device",
  roleId: "role",
  defaultRoleId: "role",
  keyId: "api_key",
  webhookId: "webhook",
  deliveryId: "delivery",
  replayId: "replay",
  templateId: "rollout_template",
};

const sameRow = (method: string, path: string) =>
  `${method} ${path.replace(/:[A-Za-z]+/g, ":").replace(/(.)\/$/, "$1")}`;
const documented = new Map(
  [...interfaceRows, ...additionalRows].map((row) => [sameRow(row.method, row.path.replace("{base}", "~")), row]),
);

/** Type of the record in the audit rows of a route. */
export const resourceTypeOf = ({ audit = "", auditResource }: Route) => auditResource ?? audit.split(".")[0];

/** Reads a row of the route table; throws with a sentence when the matrix could not judge it. */
export function subjectOf(route: Route): Subject {
  const key = `${route.method} ${route.path}`;
  const needs = documented.get(sameRow(route.method, route.atRoot ? `~${route.path}` : route.path));
  if (!needs) throw new Error(`${key} has no row: add it to interface-rows/`);
  const base = { key, route, needs, references: referencesOf(key, route) };
  const { auth } = route.access;
  if (auth === "agent") return { ...base, shape: "agent", kind: "device" };
  if (ofSeveralDevices.includes(key)) return { ...base, shape: "several", kind: "device" };
  if (liveFamily.test(route.path)) return { ...base, references: [], shape: "record", kind: "device" };
  const isOpen = auth === "none" || auth === "optional" || describesScim.test(route.path);
  if (isOpen || openRows.includes(key)) return { ...base, shape: "open", kind: null };
  if (selfRows.includes(key) || route.path.startsWith("/auth/")) return { ...base, shape: "self", kind: null };
  const named = ofOrganization[key];
  if (named) return { ...base, shape: "create", kind: named };
  const list = otherLists[key];
  if (list) return { ...base, shape: "list", kind: list };
  const [, collection = "", rest = ""] = /^(\/[^:]*?)(\/:id(?:\/.*)?)?$/.exec(route.path) ?? [];
  const kind = collections[collection];
  if (!kind) throw new Error(`${key} is about records that the isolation model does not know: add them to subjects.ts`);
  if (rest !== "") return { ...base, shape: "record", kind };
  return { ...base, shape: route.method === "GET" ? "list" : "create", kind };
}

/** The rows of a table that can be checked; each of the others fails in a separate test, with its error. */
export function subjectsOfRoutes(table: readonly Route[]): Subject[] {
  return table.flatMap((row) => {
    try {
      return [subjectOf(row)];
    } catch {
      return [];
    }
  });
}

type JsonSchema = { properties?: Record<string, { type?: string; anyOf?: { type?: string }[] }> };

/** Properties of an input schema. */
export function propertiesOf(schema: z.ZodType | undefined): NonNullable<JsonSchema["properties"]> {
  if (!schema) return {};
  return (z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema).properties ?? {};
}

function referencesOf(key: string, { params, query, body }: Route): Reference[] {
  const parts = { params, query, body };
  return Object.entries(parts).flatMap(([within, schema]) =>
    Object.entries(propertiesOf(schema)).flatMap(([field, property]) => {
      const kind = referenced[field];
      if (kind) {
        const many = [property, ...(property.anyOf ?? [])].some(({ type }) => type === "array");
        return [{ field, within: within as Reference["within"], kind, many }];
      }
      if (field !== "id" && /Ids?$/.test(field) && !notOurs.includes(field)) {
        throw new Error(`${key} takes ${field}, which the isolation model does not know: add it to subjects.ts`);
      }
      return [];
    }),
  );
}

/** The path to call: parameters filled in, prefix included. */
export function pathOf({ route }: Subject, params: Readonly<Record<string, string>>): string {
  return fullPath(route).replace(/:([A-Za-z]+)/g, (_all, name: string) => encodeURIComponent(params[name] ?? ""));
}
