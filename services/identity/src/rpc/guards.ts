import { AppError, type CallContext, validationError } from "@muster/kit";
import { requireMfa, requirePermission, requireUser } from "@muster/service";
import type { KeyDeps } from "../deps.ts";
import { findPrincipal } from "../store/principals.ts";

/** API keys cannot manage keys: requires a user who holds `organizations:read`. */
export function requireReader(context: CallContext): void {
  requireUser(context);
  requirePermission(context, "organizations:read");
}

/** Requires a user who holds `organizations:write` and completed a second factor. */
export function requireManager(context: CallContext, deps: KeyDeps): void {
  requireUser(context);
  requirePermission(context, "organizations:write");
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
}

/** Permissions of the calling user as they are now; the caller token may be a minute old. */
export async function heldNow({ db }: Pick<KeyDeps, "db">, { caller }: CallContext): Promise<readonly string[]> {
  const user = await findPrincipal(db, caller.actor.id);
  return user?.status === "active" ? user.permissions : [];
}

/** A filter with a fixed set of values: null when it is absent. Throws `validation_failed`. */
export function choiceOrNull(word: string, field: string, allowed: readonly string[]): string | null {
  if (word === "") return null;
  if (!allowed.includes(word)) throw validationError({ [field]: [`One of ${allowed.join(", ")}`] });
  return word;
}

export const apiKeyNotFound = () => new AppError("api_key_not_found", "API key not found");
