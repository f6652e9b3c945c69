import type { Database } from "@muster/db";
import { AppError, type CallContext, isUuid, type Logger, validationError } from "@muster/kit";
import { type ReplyBox, requireMfa, requirePermission } from "@muster/service";
import { findPrincipal } from "../store/people.ts";
import { awaitTenants } from "../store/tenants.ts";

export type KeyDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  mfaMaxAgeMinutes: number;
  /** Seals the replies that are kept for repeats: they hold keys. */
  box: ReplyBox;
  /** Milliseconds that the copy of the tenants may be behind tenancy before something counts as missing. */
  copyLagMs: number;
};

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

export function requirePerson({ caller }: CallContext): void {
  if (caller.actor.type !== "user") throw new AppError("user_session_required", "A user session is required");
}

/** Not for people whose access is restricted to sites. */
export function requireWholeOrganization({ caller }: CallContext): void {
  if (caller.siteIds !== null) throw siteRestricted();
}

export const siteRestricted = () => new AppError("site_restricted", "Your access is restricted to sites");

/** A living organization that the caller reaches, with its partner. Throws `organization_not_found`. */
export async function reachOrganization(
  deps: Pick<KeyDeps, "db" | "copyLagMs">,
  context: CallContext,
  orgId: string,
): Promise<{ orgId: string; partnerId: string }> {
  const { caller } = context;
  const mine =
    caller.scope === "system" ||
    (caller.scope === "organization" && caller.orgId === orgId) ||
    (caller.scope === "partner" && (caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId)));
  const wanted = { partnerId: null, orgIds: [orgId], siteIds: [] };
  const known = mine && isUuid(orgId) ? await awaitTenants(deps.db, context, wanted, deps.copyLagMs) : null;
  const org = known?.orgs.get(orgId);
  if (!org) throw new AppError("organization_not_found", "Organization not found");
  return { orgId, partnerId: org.partnerId };
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
