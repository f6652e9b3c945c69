import { type Permission, permissions, type Scope } from "@muster/kit";

export type SeededRole = {
  key: string;
  name: string;
  scope: Scope;
  permissions: readonly Permission[];
};

const organizationAdmin = permissions.filter(
  (p) => !["partner:policy", "platform:admin", "agent-releases:read"].includes(p),
);
const reading: readonly Permission[] = [
  "organizations:read",
  "users:read",
  "roles:read",
  "audit:read",
  "devices:read",
  "webhooks:read",
];

/** Roles every deployment has; written at start so that they follow this file. */
export const seededRoles: readonly SeededRole[] = [
  { key: "platform-admin", name: "Platform administrator", scope: "system", permissions },
  {
    key: "partner-admin",
    name: "Partner administrator",
    scope: "partner",
    permissions: permissions.filter((p) => p !== "platform:admin"),
  },
  {
    key: "partner-technician",
    name: "Partner technician",
    scope: "partner",
    permissions: [...reading, "devices:write", "webhooks:write", "events:write", "agent-releases:read"],
  },
  { key: "org-admin", name: "Organization administrator", scope: "organization", permissions: organizationAdmin },
  { key: "org-viewer", name: "Organization viewer", scope: "organization", permissions: reading },
];

/** What a role for users of this scope can hold: never more than its administrators. */
export function grantable(scope: Scope): readonly Permission[] {
  const key = { system: "platform-admin", partner: "partner-admin", organization: "org-admin" }[scope];
  return seededRoles.find((role) => role.key === key)?.permissions ?? [];
}
