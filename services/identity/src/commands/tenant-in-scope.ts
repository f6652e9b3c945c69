import { AppError, type CallContext, isUuid } from "@muster/kit";
import type { TenantReader } from "@muster/service";
import { findTenants } from "../store/tenants.ts";

/** An organization that is not deleted and in the caller's scope, with its partner. Throws `organization_not_found`. */
export async function organizationInScope(
  reader: TenantReader,
  context: CallContext,
  orgId: string,
): Promise<{ orgId: string; partnerId: string }> {
  const { caller } = context;
  const mine =
    caller.scope === "system" ||
    (caller.scope === "organization" && caller.orgId === orgId) ||
    (caller.scope === "partner" && (caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId)));
  const wanted = { partnerId: null, orgIds: [orgId], siteIds: [] };
  const cached = mine && isUuid(orgId) ? await findTenants(reader, context, wanted) : null;
  const org = cached?.orgs.get(orgId);
  if (!org) throw new AppError("organization_not_found", "Organization not found");
  return { orgId, partnerId: org.partnerId };
}

/** A partner that is not deleted, for which the caller may act as a whole. Throws `partner_not_found`. */
export async function partnerInScope(reader: TenantReader, context: CallContext, id: string): Promise<string> {
  const { caller } = context;
  // A user limited to some organizations cannot act for all of them.
  const mine = caller.scope === "system" || (caller.partnerId === id && caller.orgAccess.mode === "all");
  const wanted = { partnerId: id, orgIds: [], siteIds: [] };
  const cached = mine && isUuid(id) ? await findTenants(reader, context, wanted) : null;
  if (!cached?.partner) throw new AppError("partner_not_found", "Partner not found");
  return id;
}
