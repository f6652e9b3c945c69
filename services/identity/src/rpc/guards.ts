import { AppError, type CallContext, validationError } from "@muster/kit";
import { requireMfa, requirePermission, requirePerson } from "@muster/service";
import type { KeyDeps } from "../deps.ts";
import { findPrincipal } from "../store/people.ts";

/** Keys never manage keys: a person who holds `organizations:read`. */
export function requireReader(context: CallContext): void {
  requirePerson(context);
  requirePermission(context, "organizations:read");
}

/** A person who holds `organizations:write` and completed a second factor. */
export function requireManager(context: CallContext, deps: KeyDeps): void {
  requirePerson(context);
  requirePermission(context, "organizations:write");
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
}

/** Permissions of the calling person as they are now; the caller token may be a minute old. */
export async function heldNow({ db }: Pick<KeyDeps, "db">, { caller }: CallContext): Promise<readonly string[]> {
  const person = await findPrincipal(db, caller.actor.id);
  return person?.status === "active" ? person.permissions : [];
}

/** A filter by one of a few words: null when it was not given. Throws `validation_failed`. */
export function wordOrNull(word: string, field: string, known: readonly string[]): string | null {
  if (word === "") return null;
  if (!known.includes(word)) throw validationError({ [field]: [`One of ${known.join(", ")}`] });
  return word;
}

export const apiKeyNotFound = () => new AppError("api_key_not_found", "API key not found");
