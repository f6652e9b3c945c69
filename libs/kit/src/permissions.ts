/** Permissions of people. Each stands in `01-conventions` ("Who may call what"). */
export const permissions = [
  "organizations:read",
  "organizations:write",
  "partner:policy",
  "users:read",
  "users:write",
  "roles:read",
  "roles:write",
  "audit:read",
  "audit:export",
  "audit:write",
  "devices:read",
  "devices:write",
  "devices:delete",
  "webhooks:read",
  "webhooks:write",
  "events:write",
  "agent-releases:read",
  "platform:admin",
] as const;

export type Permission = (typeof permissions)[number];
