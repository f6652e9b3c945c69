import type { Caller } from "@muster/kit";

type Place = { partnerId: string; orgId: string; siteId: string | null };

/** Whether a record there is within a caller's tenant, organizations and sites, as row-level security has it. */
export function reaches({ scope, partnerId, orgId, orgAccess, siteIds }: Caller, place: Place): boolean {
  if (scope === "system") return true;
  if (place.partnerId !== partnerId) return false;
  if (scope === "organization" && place.orgId !== orgId) return false;
  if (scope === "partner" && orgAccess.mode === "list" && !orgAccess.orgIds.includes(place.orgId)) return false;
  return siteIds === null || (place.siteId !== null && siteIds.includes(place.siteId));
}
