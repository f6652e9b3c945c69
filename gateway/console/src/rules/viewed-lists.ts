/** Lists of the API whose filters can be saved as a view, and the API's names for them. */
const viewedLists = {
  "/api/v1/agent-versions": "agent-versions",
  "/api/v1/agent-versions/rollouts": "rollouts",
  "/api/v1/api-keys": "api-keys",
  "/api/v1/audit-logs/exports": "audit-exports",
  "/api/v1/audit-logs/logs": "audit-logs",
  "/api/v1/audit-logs/streams": "audit-streams",
  "/api/v1/device-groups": "device-groups",
  "/api/v1/devices": "devices",
  "/api/v1/directories": "directories",
  "/api/v1/enrollment-keys": "enrollment-keys",
  "/api/v1/orgs/organizations": "organizations",
  "/api/v1/orgs/partners": "partners",
  "/api/v1/orgs/sites": "sites",
  "/api/v1/roles": "roles",
  "/api/v1/service-principals": "service-principals",
  "/api/v1/sso/domains": "sso-domains",
  "/api/v1/sso/providers": "sso-providers",
  "/api/v1/users": "users",
  "/api/v1/webhooks": "webhooks",
  "/api/v1/webhooks/all": "webhooks",
} as const;

export type ViewedList = (typeof viewedLists)[keyof typeof viewedLists];

/** The API's name of a list; null for one without views, as a search. */
export const viewedList = (path: string): ViewedList | null =>
  Object.entries(viewedLists).find(([each]) => each === path)?.[1] ?? null;

type Query = Readonly<Record<string, string | readonly string[]>>;

/** The filters of a view as the address has them: those that it does not name are dropped. */
export function filtersOf(query: Query, names: readonly string[]): Record<string, string | undefined> {
  const texts = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === "string" ? value : value.join(","),
  ]);
  return { ...Object.fromEntries(names.map((name) => [name, undefined])), ...Object.fromEntries(texts) };
}
