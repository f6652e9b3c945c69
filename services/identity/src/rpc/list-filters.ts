import { AppError, type CallContext, isUuid, validationError } from "@muster/kit";
import { requireScope, type TenantReader } from "@muster/service";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import { findTenants, isCachedOrganization } from "../store/tenants.ts";

/**
 * The organization filter of a list, null when absent. Throws `validation_failed`, and `organization_not_found` when it
 * is missing, deleted (except for system callers) or out of the caller's scope.
 */
export async function organizationFilter(
  reader: TenantReader,
  context: CallContext,
  id: string,
): Promise<string | null> {
  const orgId = idOrNull(id, "orgId");
  if (orgId === null) return null;
  const { scope } = context.caller;
  if (scope === "system" && (await isCachedOrganization(reader.db, context, orgId))) return orgId;
  return (await organizationInScope(reader, context, orgId)).orgId;
}

/**
 * The filter of a list of tenants' records: an organization, or the records of partners themselves (`scope` "partner"),
 * which system callers see beside the others. Throws as organizationFilter, and `scope_not_allowed`.
 */
export async function ownerFilter(
  reader: TenantReader,
  context: CallContext,
  { orgId, scope }: { orgId: string; scope: string },
): Promise<{ orgId: string | null; ofPartner: boolean | null }> {
  const ofPartner = scope === "partner";
  if (ofPartner) requireScope(context, "partner");
  return {
    orgId: await organizationFilter(reader, context, orgId),
    ofPartner: ofPartner ? true : context.caller.scope === "system" ? null : false,
  };
}

/**
 * The partner filter of a list, null when absent: system callers have access to active partners, partner callers their
 * own, organization callers none. Throws `validation_failed` and `partner_not_found`.
 */
export async function partnerFilter(reader: TenantReader, context: CallContext, id: string): Promise<string | null> {
  const partnerId = idOrNull(id, "partnerId");
  if (partnerId === null) return null;
  const { scope, partnerId: own } = context.caller;
  const inScope =
    scope === "system"
      ? (await findTenants(reader, context, { partnerId, orgIds: [], siteIds: [] })).partner
      : scope === "partner" && own === partnerId;
  if (!inScope) throw new AppError("partner_not_found", "Partner not found");
  return partnerId;
}

/** A filter by id: null when absent. Throws `validation_failed`. */
export function idOrNull(id: string, field: string): string | null {
  if (id === "") return null;
  if (!isUuid(id)) throw validationError({ [field]: ["Must be a UUID"] });
  return id.toLowerCase();
}
