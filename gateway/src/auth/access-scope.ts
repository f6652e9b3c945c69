import type { Caller } from "@muster/kit";

type Owner = { partnerId: string; orgId: string; siteId: string | null };

/**
 * Whether a record of that owner is in a caller's access scope: tenant, organizations and sites, as row-level security
 * has it.
 */
export function inAccessScope({ scope, partnerId, orgId, orgAccess, siteIds }: Caller, owner: Owner): boolean {
  if (scope === "system") return true;
  if (owner.partnerId !== partnerId) return false;
  if (scope === "organization" && owner.orgId !== orgId) return false;
  if (scope === "partner" && orgAccess.mode === "list" && !orgAccess.orgIds.includes(owner.orgId)) return false;
  return siteIds === null || (owner.siteId !== null && siteIds.includes(owner.siteId));
}
