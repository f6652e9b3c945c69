import { AppError, type CallContext, validationError } from "@muster/kit";
import { requirePermission, requireScope, type TenantReader } from "@muster/service";
import type { Owner } from "../../rules/sso/provider.ts";
import { organizationInScope, partnerInScope } from "../tenant-in-scope.ts";

/**
 * A partner's own providers and domains require a user who sets its policy and has access to all of it. Throws the
 * codes named there.
 */
export function requirePartnerPolicy(context: CallContext): void {
  requireScope(context, "partner", "system");
  requirePermission(context, "partner:policy");
  const { caller } = context;
  if (caller.scope === "partner" && caller.orgAccess.mode !== "all") {
    throw new AppError("scope_not_allowed", "This operation needs access to all organizations of the partner");
  }
}

/** Whether the caller may change a provider or a domain that they see. */
export function requireOwner(context: CallContext, row: { org_id: string | null }): void {
  if (row.org_id === null) requirePartnerPolicy(context);
}

/**
 * The owner of a new record: an organization, by default the caller's own, or with ownerScope `partner`
 * the caller's partner. Throws `organization_context_required`, `partner_id_required`, `organization_not_found`,
 * `partner_not_found`.
 */
export async function newOwner(
  reader: TenantReader,
  context: CallContext,
  { ownerScope, orgId, partnerId }: { ownerScope: string; orgId: string; partnerId: string },
): Promise<Owner> {
  const { caller } = context;
  if (ownerScope === "partner") {
    requirePartnerPolicy(context);
    const wanted = caller.scope === "system" ? partnerId : (caller.partnerId ?? "");
    if (wanted === "") throw new AppError("partner_id_required", "partnerId is required for system scope");
    return { partnerId: await partnerInScope(reader, context, wanted), orgId: null };
  }
  if (ownerScope !== "" && ownerScope !== "organization") {
    throw validationError({ ownerScope: ["One of organization, partner"] });
  }
  const wanted = orgId || (caller.scope === "organization" ? (caller.orgId ?? "") : "");
  if (wanted === "") {
    throw new AppError("organization_context_required", "Organization context required", {
      facts: { details: { formErrors: [], fieldErrors: { orgId: ["Required"] } } },
    });
  }
  return organizationInScope(reader, context, wanted);
}
