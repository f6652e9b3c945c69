import type { Tx } from "@muster/db";
import { type CallContext, isUuid } from "@muster/kit";
import { organizationNotFound } from "../rules/refusals.ts";
import { findOwner } from "../store/device-scope.ts";
import type { ViewTenant } from "../store/saved-views.ts";

/** The named organization, else the caller's own tenant. Throws `organization_not_found`. */
export async function tenantOfNew(tx: Tx, { caller }: CallContext, wanted: string): Promise<ViewTenant> {
  const orgId = wanted === "" ? caller.orgId : wanted;
  if (orgId === null) return { orgId, partnerId: caller.partnerId };
  const partnerId = isUuid(orgId) ? await findOwner(tx, caller, orgId) : null;
  if (partnerId === null) throw organizationNotFound();
  return { orgId, partnerId };
}
