/** Permissions of people. Routes name them (docs/behaviour.md#who-may-call-what). */
export const permissions = [
  "organizations:read",
  "organizations:write",
  "partner:policy",
  "directory:read",
  "directory:write",
  "users:read",
  "users:write",
  "roles:read",
  "roles:write",
  "audit:read",
  "audit:export",
  "audit:write",
  "audit:append",
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

/** What each permission allows, for people who make roles. */
export const permissionSentences: Readonly<Record<Permission, string>> = {
  "organizations:read":
    "See organizations, sites, API keys, service principals, enrollment keys and sign-in providers.",
  "organizations:write":
    "Make, change and delete organizations and sites; manage API keys, service principals, enrollment keys and sign-in providers.",
  "partner:policy": "Change the partner's own settings, policies and branding.",
  "directory:read": "See directories, their groups and role mappings, and their requests.",
  "directory:write": "Make, change, pause and delete directories, their tokens and role mappings.",
  "users:read": "See people and what they may do.",
  "users:write": "Invite, change, disable and delete people, up to one's own permissions.",
  "roles:read": "See roles and the permissions that they can hold.",
  "roles:write": "Make, change and delete custom roles, up to one's own permissions.",
  "audit:read": "Read audit logs and audit reports.",
  "audit:export": "Export audit logs.",
  "audit:write": "Change the audit retention, verify the chain and manage audit streams.",
  "audit:append": "Append own events to an organization's audit trail.",
  "devices:read": "See devices, device groups and their logs, live ones included.",
  "devices:write": "Change devices and device groups, and their automatic updates.",
  "devices:delete": "Decommission devices and delete device groups.",
  "webhooks:read": "See webhooks and their deliveries.",
  "webhooks:write": "Make, change, test and delete webhooks; repeat deliveries.",
  "events:write": "Emit platform events.",
  "agent-releases:read": "See agent versions.",
  "platform:admin": "Operate the platform: promote, register and synchronise agent releases.",
};
