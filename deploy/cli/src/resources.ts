import type { ItemOf, ListPath, paths } from "@muster/client";
import { wrongUsage } from "./failure.ts";
import { nearest } from "./suggest.ts";

export type Verb = "get" | "create" | "update" | "delete";

export type Resource = {
  name: string;
  /** Of its list; one record is `<path>/{id}`. A path with `{id}` belongs to a record that `--of` names. */
  path: ListPath;
  columns: readonly string[];
  filters: readonly string[];
  /** What may be done with one record, and whether one can be made. */
  verbs: readonly Verb[];
  /** The list that takes the filter `q`, a text, beside all others; null without one. */
  searchPath: ListPath | null;
};

type One<P extends string> = `${P}/{id}` extends keyof paths ? paths[`${P}/{id}`] : object;
type VerbOf<P extends ListPath> =
  | (One<P> extends { get: object } ? "get" : never)
  | (paths[P] extends { post: object } ? "create" : never)
  | (One<P> extends { patch: object } ? "update" : never)
  | (One<P> extends { delete: object } ? "delete" : never);
type ColumnOf<P extends ListPath> = keyof ItemOf<P> & string;
type FilterOf<P extends ListPath> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? Exclude<keyof NonNullable<Query>, "page" | "limit" | "cursor" | "skipCount"> & string
  : never;

/** Rows that have a health show it: whoever lists them sees what fails. */
type ShowsHealth<P extends ListPath, C extends readonly string[]> =
  "health" extends ColumnOf<P> ? ("health" extends C[number] ? unknown : { missing: "health" }) : unknown;

/** A column, a filter or a verb that the API does not have does not compile, nor a list without its health. */
function resource<P extends ListPath, const C extends readonly ColumnOf<P>[]>(
  name: string,
  path: P,
  columns: C & ShowsHealth<P, C>,
  filters: readonly FilterOf<P>[] = [],
  verbs: readonly VerbOf<P>[] = [],
  searchPath: ListPath | null = null,
): Resource {
  return { name, path, columns, filters: searchPath ? [...filters, "q"] : filters, verbs, searchPath };
}

const all = ["get", "create", "update", "delete"] as const;

// biome-ignore format: a line per resource
/** What `get`, `create`, `update` and `delete` know: a new resource is one line. */
export const resources: readonly Resource[] = [
  resource("agent-versions", "/api/v1/agent-versions", ["id", "component", "version", "promoted", "signed", "createdAt"], ["component"], ["delete"]),
  resource("api-keys", "/api/v1/api-keys", ["id", "name", "keyPrefix", "status", "scopes", "expiresAt", "lastUsedAt"], ["orgId", "status", "search", "expiresBefore"], all),
  resource("audit-alerts", "/api/v1/audit-logs/alerts", ["id", "name", "status", "template", "firedCount", "lastFiredAt", "lastError"], ["orgId"], all),
  resource("audit-exports", "/api/v1/audit-logs/exports", ["id", "orgId", "status", "rows", "parts", "createdAt", "expiresAt"], ["orgId"], ["get", "create", "delete"]),
  resource("audit-logs", "/api/v1/audit-logs/logs", ["timestamp", "user", "action", "resource", "result", "ipAddress"], ["orgId", "user", "actorId", "actorType", "target", "ipAddress", "network", "sessionId", "excludeActions", "excludeTargetTypes", "action", "actions", "category", "result", "resource", "resourceId", "resourceType", "from", "to"], ["get"], "/api/v1/audit-logs/search"),
  resource("audit-streams", "/api/v1/audit-logs/streams", ["id", "name", "type", "status", "health", "lagRows", "lastError"], ["orgId"], all),
  resource("audit-verifications", "/api/v1/audit-logs/verify", ["id", "orgId", "status", "createdAt"], ["orgId", "status"], ["get"]),
  resource("bulk-jobs", "/api/v1/devices/bulk-jobs", ["id", "action", "status", "total", "done", "failed", "createdAt"], ["orgId", "status"], ["get", "delete"]),
  resource("checkpoints", "/api/v1/audit-logs/checkpoints", ["orgId", "chainId", "seq", "checksum", "createdAt"], ["orgId"]),
  resource("dead-letters", "/api/v1/webhooks/dead-letters", ["id", "webhookId", "event", "reason", "attempts", "createdAt"], ["orgId", "webhookId"]),
  resource("deliveries", "/api/v1/webhooks/{id}/deliveries", ["id", "event", "status", "attempt", "responseStatus", "createdAt"], ["status", "event", "eventId", "answer", "from", "to"]),
  resource("device-events", "/api/v1/devices/{id}/eventlogs", ["timestamp", "level", "category", "source", "message"], ["category", "level", "source", "startDate", "endDate"]),
  resource("device-groups", "/api/v1/device-groups", ["id", "name", "siteId", "orgId"], ["orgId", "siteId", "search"], all),
  resource("device-logs", "/api/v1/devices/{id}/diagnostic-logs", ["timestamp", "level", "component", "message"], ["level", "component", "since", "until", "search"]),
  resource("devices", "/api/v1/devices", ["id", "hostname", "os", "agentVersion", "status", "lastSeenAt"], ["orgId", "siteId", "groupId", "status", "os", "arch", "agentVersion", "agentVersionRange", "updateState", "label", "hardwareId", "serialNumber", "address", "seenAfter", "seenBefore", "enrollmentKeyId", "search", "sort"], ["get", "update", "delete"]),
  resource("directories", "/api/v1/directories", ["id", "name", "status", "health", "preset", "defaultRoleId"], ["orgId", "scope"], all),
  resource("directory-groups", "/api/v1/directories/{id}/groups", ["id", "name", "externalId", "members", "updatedAt"]),
  resource("directory-requests", "/api/v1/directories/{id}/requests", ["at", "operation", "resourceId", "answer", "scimType", "detail"], ["refused"]),
  resource("enrollment-keys", "/api/v1/enrollment-keys", ["id", "name", "usageCount", "maxUsage", "expiresAt"], ["orgId", "expired"], ["get", "create", "delete"]),
  resource("event-deliveries", "/api/v1/events/{id}/deliveries", ["id", "webhookId", "status", "attempt", "responseStatus", "createdAt"], ["orgId", "status"]),
  resource("events", "/api/v1/events", ["id", "type", "timestamp", "source"], ["orgId", "type", "id", "from", "to"], ["get", "create"]),
  resource("log-usage", "/api/v1/platform/log-usage", ["orgId", "day", "rows", "bytes", "refusedRequests"], ["day", "refused"], []),
  resource("organizations", "/api/v1/orgs/organizations", ["id", "name", "slug", "status", "type", "partnerId"], ["partnerId", "search", "sort", "deviceCounts"], all),
  resource("partners", "/api/v1/orgs/partners", ["id", "name", "slug", "status", "plan"], ["search"], all),
  resource("portal-links", "/api/v1/webhooks/portal-links", ["id", "name", "capabilities", "expiresAt", "openedAt", "revokedAt"], ["orgId"], ["create", "delete"]),
  resource("replays", "/api/v1/webhooks/{id}/replays", ["id", "status", "queued", "skipped", "createdAt", "finishedAt"]),
  resource("roles", "/api/v1/roles", ["id", "key", "name", "scope"], ["partnerId", "orgId", "scope"], all),
  resource("rollout-devices", "/api/v1/agent-versions/rollouts/{id}/devices", ["deviceId", "fromVersion", "version", "state", "reason"], ["state", "reason"]),
  resource("rollout-templates", "/api/v1/agent-versions/rollout-templates", ["id", "name", "percent", "updatedAt"], [], ["get", "create", "delete"]),
  resource("rollouts", "/api/v1/agent-versions/rollouts", ["id", "component", "version", "kind", "state", "percent", "succeeded", "failed"], ["component", "state", "kind", "partnerId"], ["get", "create", "update"]),
  resource("saved-views", "/api/v1/saved-views", ["id", "name", "resource", "shared", "query", "orgId"], ["orgId", "resource", "search"], all),
  resource("service-principals", "/api/v1/service-principals", ["id", "name", "keyPrefix", "status", "scopes"], ["orgId", "status", "search"], ["get", "create"]),
  resource("sessions", "/api/v1/auth/sessions", ["id", "device", "ipAddress", "lastUsedAt", "expiresAt", "current"], [], ["delete"]),
  resource("sites", "/api/v1/orgs/sites", ["id", "name", "timezone", "orgId"], ["orgId", "search", "sort", "deviceCounts"], all),
  resource("sso-attempts", "/api/v1/sso/attempts", ["id", "createdAt", "kind", "outcome", "step", "reason", "email"], [], ["get"]),
  resource("sso-domains", "/api/v1/sso/domains", ["id", "domain", "verifiedAt", "lastError"], ["orgId", "scope"], ["create", "delete"]),
  resource("sso-providers", "/api/v1/sso/providers", ["id", "name", "type", "status", "health", "enforceSSO"], ["orgId", "scope"], all),
  resource("users", "/api/v1/users", ["id", "email", "name", "role", "status", "mfaEnabled", "lastLoginAt"], ["partnerId", "orgId", "role", "status", "mfaEnabled", "search"], ["get", "create", "update", "delete"]),
  resource("webhooks", "/api/v1/webhooks", ["id", "name", "url", "status", "health", "events", "successCount", "failureCount"], ["orgId", "status", "search"], all),
];

/** The resource of a name, its singular too; throws a Failure that suggests one. */
export function resourceOf(typed: string, verb: Verb | "list"): Resource {
  const found = resources.find(({ name }) => name === typed || name === `${typed}s`);
  if (!found) {
    const near = nearest(
      typed,
      resources.map(({ name }) => name),
    );
    throw wrongUsage(
      `no resource "${typed}"${near ? `; did you mean "${near}"?` : ""}\nKnown: ${namesFor("list").join(", ")}`,
    );
  }
  if (verb !== "list" && !found.verbs.includes(verb)) {
    throw wrongUsage(`the API cannot ${verb} one of ${found.name}`);
  }
  return found;
}

/** Names of the resources that a verb takes. */
export const namesFor = (verb: Verb | "list") =>
  resources.filter(({ verbs }) => verb === "list" || verbs.includes(verb)).map(({ name }) => name);
