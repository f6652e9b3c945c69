import type { paths } from "@muster/client";

type Verb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Served<P extends keyof paths, V extends Verb> =
  paths[P] extends Record<Lowercase<V>, object> ? `${V} ${P}` : never;
type Operation = { [P in keyof paths]: { [V in Verb]: Served<P, V> }[Verb] }[keyof paths];
type QueryOf<O extends Operation> = O extends `GET ${infer P extends keyof paths}`
  ? paths[P] extends { get: { parameters: { query?: infer Query } } }
    ? keyof NonNullable<Query> & string
    : never
  : never;

export type Action = {
  /** Its words after `muster`, as `users disable`. */
  words: string;
  operation: string;
  about: string;
  /** What follows the ids in the example of its help. */
  example: string;
  filters: readonly string[];
};

/** An operation, or a filter, that the API does not have does not compile. */
function action<O extends Operation>(
  words: string,
  operation: O,
  about: string,
  example = "",
  filters: readonly QueryOf<O>[] = [],
): Action {
  return { words, operation, about, example, filters };
}

/** Groups that hold actions alone, with the sentence of their help. */
export const groups: Readonly<Record<string, string>> = {
  users: "people: disable one who leaves, end sessions, remove second factors, invite again",
  roles: "what a role can hold",
  groups: "devices of a group: add, remove",
  principals: "service principals: disable, adopt a key",
  sso: "identity providers: presets, status, test, keys, domains",
  logs: "quota and retention of an organization's logs",
  report: "counts of audit rows",
};

// biome-ignore format: a line per action
/** What can be done beyond `get`, `create`, `update` and `delete`: a new one is one line. */
export const actions: readonly Action[] = [
  action("users disable", "POST /api/v1/users/{id}/disable", "refuse a user's sign-ins and end the sessions; API keys belong to the organization and go on"),
  action("users enable", "POST /api/v1/users/{id}/enable", "let a disabled user sign in again"),
  action("users end-sessions", "DELETE /api/v1/users/{id}/sessions", "end every session of a user"),
  action("users remove-factors", "DELETE /api/v1/users/{id}/factors", "remove every second factor of a user who lost them, and end the sessions"),
  action("users invite-again", "POST /api/v1/users/{id}/invite", "a new link for a user who has not accepted yet"),
  action("roles permissions", "GET /api/v1/permissions", "every permission that a role can hold"),
  action("groups add", "POST /api/v1/device-groups/{id}/devices", "add devices to a group", "deviceIds[]=DEVICE deviceIds[]=DEVICE"),
  action("groups remove", "DELETE /api/v1/device-groups/{id}/devices", "remove devices from a group", "deviceIds[]=DEVICE"),
  action("principals disable", "POST /api/v1/service-principals/{id}/disable", "disable a service principal and its key"),
  action("principals adopt-key", "POST /api/v1/service-principals/{id}/migrate-key", "make an existing API key the key of a service principal", "keyId=KEY"),
  action("keys scopes", "GET /api/v1/api-keys/scopes", "every scope that a key can have, and the permission that grants it"),
  action("sso presets", "GET /api/v1/sso/presets", "products with the scopes and attributes that they fill in"),
  action("sso set-status", "POST /api/v1/sso/providers/{id}/status", "set a provider inactive, testing or active", "status=testing"),
  action("sso test", "POST /api/v1/sso/providers/{id}/test", "test a provider's addresses as a sign-in would, and store new certificates"),
  action("sso renew-key", "POST /api/v1/sso/providers/{id}/keys", "renew our key for a SAML provider", "graceDays:=30"),
  action("sso verify-domain", "POST /api/v1/sso/domains/{id}/verify", "look up a domain's TXT record now"),
  action("directory presets", "GET /api/v1/directories/presets", "products, and where their guides are"),
  action("directory mapping", "GET /api/v1/directories/{id}/mappings", "the role mapping of a directory, in its order"),
  action("directory map", "PUT /api/v1/directories/{id}/mappings", "replace the role mapping", `'mappings:=[{"groupId":"GROUP","roleId":"ROLE"}]'`),
  action("directory try", "GET /api/v1/directories/{id}/mappings/try", "the role that a user with these groups would have", "groupIds=GROUP,GROUP", ["groupIds", "claims"]),
  action("devices summary", "GET /api/v1/devices/summary", "number of devices by status", "orgId=ID", ["orgId", "siteId", "groupId"]),
  action("devices update-now", "POST /api/v1/devices/{id}/update", "offer a device its version at its next heartbeat, whatever policy and window are"),
  action("devices live-logs", "GET /api/v1/system-tools/devices/{deviceId}/eventlogs", "event logs on the device now; it must be online"),
  action("devices live-events", "GET /api/v1/system-tools/devices/{deviceId}/eventlogs/{name}/events", "events of a log on the device now", "level=error limit=20", ["page", "limit", "level", "source", "startTime", "endTime", "eventId"]),
  action("webhooks test", "POST /api/v1/webhooks/{id}/test", "send a test event to one webhook"),
  action("webhooks stats", "GET /api/v1/webhooks/{id}/stats", "outcomes of deliveries over time", "hours=24", ["hours"]),
  action("webhooks delivery", "GET /api/v1/webhooks/{id}/deliveries/{deliveryId}", "one delivery with its attempts: what was sent and answered"),
  action("webhooks requeue", "POST /api/v1/webhooks/dead-letters/{id}/requeue", "queue a dead letter's delivery again, once"),
  action("webhooks cancel-replay", "DELETE /api/v1/webhooks/{id}/replays/{replayId}", "cancel a replay and drop its pending deliveries"),
  action("webhooks reveal-secret", "POST /api/v1/webhooks/{id}/reveal-secret", "show the signing secret"),
  action("webhooks rotate-signing-key", "POST /api/v1/webhooks/{id}/rotate-signing-key", "a new key pair", "graceSeconds:=86400"),
  action("logs limits", "GET /api/v1/orgs/organizations/{id}/log-limits", "quota and retention of an organization's logs, and what its agents sent today"),
  action("logs set-limits", "PATCH /api/v1/orgs/organizations/{id}/log-limits", "change quota or retention (platform administrators); null: the platform's", "rowsPerDay:=500000 agentLogDays:=30"),
  action("audit keys", "GET /api/v1/audit-logs/checkpoints", "the deployment's verifier keys, and the newest checkpoint", "--json | jq -r '.keys[]'", ["orgId", "limit"]),
  action("audit report sign-ins", "GET /api/v1/audit-logs/reports/sign-ins", "sign-ins over time, accepted and refused", "from=2026-01-01 step=1d", ["orgId", "from", "to", "step"]),
  action("audit report categories", "GET /api/v1/audit-logs/reports/categories", "audit rows by category and action", "from=2026-01-01", ["orgId", "from", "to"]),
  action("audit report user-activity", "GET /api/v1/audit-logs/reports/user-activity", "audit rows by actor", "from=2026-01-01", ["orgId", "from", "to"]),
  action("audit report security-events", "GET /api/v1/audit-logs/reports/security-events", "sign-ins, permissions, policies, addresses of agents", "from=2026-01-01", ["orgId", "from", "to"]),
  action("audit report compliance", "GET /api/v1/audit-logs/reports/compliance", "compliance-tracked actions", "from=2026-01-01", ["orgId", "from", "to"]),
];

/** Names of the ids in an operation's path, in order. */
export const idsOf = ({ operation }: Action): string[] =>
  [...operation.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
