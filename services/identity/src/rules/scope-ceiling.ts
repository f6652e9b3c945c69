import { AppError, anyScope, includesScope, isKeyScope, keyScopes, permissionsOfScope, scopesOfAny } from "@muster/kit";

const maxScopes = 100;

/** The scopes of a request, each once, in the catalogue's order. Throws `unknown_scope`. */
export function validScopes(requested: readonly string[]): string[] {
  const wanted = new Set(requested);
  const unknown = [...wanted].filter((scope) => scope !== anyScope && !isKeyScope(scope));
  if (unknown.length > 0) {
    throw new AppError("unknown_scope", "Unknown scope", { facts: { scopes: unknown.slice(0, maxScopes) } });
  }
  return [anyScope, ...keyScopes].filter((scope) => wanted.has(scope));
}

/**
 * A user grants what they hold now: each scope's permission, and for `*` those of the scopes that it includes. Throws
 * `delegation_denied`.
 */
export function requireHeld(permissions: readonly string[], scopes: readonly string[]): void {
  const held = (scope: string) => isKeyScope(scope) && permissionsOfScope(scope).every((p) => permissions.includes(p));
  deny(scopes.filter((scope) => (scope === anyScope ? !scopesOfAny.every(held) : !held(scope))));
}

/** A principal's key stays within the principal's scopes. Throws `delegation_denied`. */
export function requireWithin(ceiling: readonly string[], scopes: readonly string[]): void {
  deny(scopes.filter((scope) => !includesScope(ceiling, scope)));
}

/** What both allow; `*` allows everything that it includes. */
export function commonScopes(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])].filter((scope) => includesScope(a, scope) && includesScope(b, scope));
}

function deny(scopes: readonly string[]): void {
  if (scopes.length === 0) return;
  throw new AppError("delegation_denied", "You cannot grant scopes that you do not hold", { facts: { scopes } });
}
