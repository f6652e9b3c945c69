import type { Permission } from "./permissions.ts";

/** Scopes that operations of this API need, and the permission that a granting user must hold. */
const served = {
  "organizations:read": "organizations:read",
  "organizations:write": "organizations:write",
  "sites:read": "organizations:read",
  "sites:write": "organizations:write",
  "devices:read": "devices:read",
  "devices:write": "devices:write",
  "logs:read": "devices:read",
  "audit:read": "audit:read",
  "audit:append": "audit:append",
  "webhooks:read": "webhooks:read",
  "webhooks:write": "webhooks:write",
  "events:write": "events:write",
} as const satisfies Record<string, Permission>;

/** Scopes of parts of the platform that live elsewhere and use these keys. */
const servedElsewhere = {
  "scripts:read": "devices:read",
  "scripts:write": "devices:write",
  "scripts:execute": "devices:write",
  "alerts:read": "devices:read",
  "alerts:write": "devices:write",
  "patches:read": "devices:read",
  "patches:write": "devices:write",
  "policies:read": "devices:read",
  "policies:write": "devices:write",
  "automations:read": "devices:read",
  "automations:write": "devices:write",
  "reports:read": "devices:read",
  "remote:read": "devices:read",
  "remote:execute": "devices:write",
} as const satisfies Record<string, Permission>;

/** Every scope of an API key, and the permission that a granting user must hold. */
export const scopePermissions = { ...served, ...servedElsewhere };

/**
 * For keys deleting is writing, and exporting reading: they have no separate scopes
 * (docs/behaviour.md#who-may-call-what).
 */
const further: Partial<Record<string, readonly Permission[]>> = {
  "devices:write": ["devices:delete"],
  "audit:read": ["audit:export"],
};

/** Every permission that a scope includes: a user must hold them all to grant it, and a key with it acts with them. */
export function permissionsOfScope(scope: KeyScope): readonly Permission[] {
  return [scopePermissions[scope], ...(further[scope] ?? [])];
}

export type KeyScope = keyof typeof scopePermissions;

/** Passes the check of every scope that need not be named; granted by users who hold the permission of each of them. */
export const anyScope = "*";

export const keyScopes: readonly KeyScope[] = Object.keys(scopePermissions).filter(isKeyScope);

/** Those that an operation of this API needs. */
export const servedScopes: readonly KeyScope[] = Object.keys(served).filter(isKeyScope);

/** Scopes that `*` does not include: what they write is evidence, so a key holds them by name. */
const onlyByName: readonly string[] = ["audit:append"] satisfies KeyScope[];

/** What `*` stands for. */
export const scopesOfAny: readonly KeyScope[] = keyScopes.filter((scope) => !onlyByName.includes(scope));

/** Whether a list of scopes includes this one, by its name or by `*`. */
export const includesScope = (held: readonly string[], scope: string): boolean =>
  held.includes(scope) || (held.includes(anyScope) && !onlyByName.includes(scope));

export function isKeyScope(value: string): value is KeyScope {
  return Object.hasOwn(scopePermissions, value);
}

/** Whether a key with these scopes opens a route that asks for one of `required`. */
export function scopesOpen(held: readonly string[], required: readonly KeyScope[]): boolean {
  return required.some((scope) => includesScope(held, scope));
}
