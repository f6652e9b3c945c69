import type { Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, isUuid } from "@muster/kit";
import {
  requireOrganization,
  requirePermission,
  requireUser,
  requireWholeOrganization,
  type TenantReader,
} from "@muster/service";
import { organizationExists, partnerOfOrganization } from "../store/tenants.ts";
import { lockWebhook, type WebhookRow } from "../store/webhooks.ts";

export function requireReader(context: CallContext): void {
  requirePermission(context, "webhooks:read");
  requireOrganization(context);
}

/** Deliveries contain data of devices at every site, and of sign-ins: users restricted to sites cannot read them. */
export function requireDeliveryReader(context: CallContext): void {
  requireReader(context);
  requireWholeOrganization(context);
}

/** Webhooks concern a whole organization: users restricted to sites cannot change them. */
export function requireWriter(context: CallContext, permission = "webhooks:write"): void {
  requirePermission(context, permission);
  requireOrganization(context);
  requireWholeOrganization(context);
}

/** Users with a second factor; portal sessions, of which this RPC admits only those that may see secrets. */
export function requireRevealer(context: CallContext): void {
  const { actor, mfaAt } = context.caller;
  if (actor.type === "portal") return;
  requireWriter(context);
  requireUser(context);
  if (mfaAt === null) throw new AppError("mfa_required", "A completed MFA challenge is required");
}

/**
 * The organization of a call: the caller's own, or the one named by a partner or system caller, if its id alone is in
 * the caller's access scope. Throws `organization_context_required`, `organization_not_found`.
 */
export function namedOrganization({ caller }: CallContext, named: string): string {
  const orgId = (named || (caller.scope === "organization" ? (caller.orgId ?? "") : "")).toLowerCase();
  if (orgId === "") throw new AppError("organization_context_required", "Organization context required");
  const mine =
    caller.scope === "system" ||
    (caller.scope === "organization" && caller.orgId === orgId) ||
    (caller.scope === "partner" && (caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId)));
  if (!mine || !isUuid(orgId)) throw organizationNotFound();
  return orgId;
}

/** Whether organizations of that partner are in the caller's scope; completes the check of namedOrganization. */
export function isPartnerInScope({ scope, partnerId }: Caller, owner: string): boolean {
  return scope !== "partner" || partnerId === owner;
}

/** As namedOrganization, for an organization that is not deleted. */
export async function organizationOf(
  reader: TenantReader,
  context: CallContext,
  named: string,
): Promise<{ orgId: string; partnerId: string }> {
  const orgId = namedOrganization(context, named);
  const partnerId = await partnerOfOrganization(reader, context, orgId);
  if (partnerId === null) throw organizationNotFound();
  return { orgId, partnerId };
}

/** As organizationOf, for lists: system callers also read the rows of a deleted organization. */
export async function listedOrganization(reader: TenantReader, context: CallContext, named: string): Promise<string> {
  const { scope } = context.caller;
  if (scope === "system" && isUuid(named) && (await organizationExists(reader.db, context, named))) return named;
  return (await organizationOf(reader, context, named)).orgId;
}

export const organizationNotFound = () => new AppError("organization_not_found", "Organization not found");
export const webhookNotFound = () => new AppError("webhook_not_found", "Webhook not found");
export const eventNotFound = () => new AppError("event_not_found", "Event not found");
export const deliveryNotFound = () => new AppError("delivery_not_found", "Delivery not found");

/** A webhook in the caller's scope, locked until the end of the transaction. Throws `webhook_not_found`. */
export async function lockedWebhook(tx: Tx, context: CallContext, id: string): Promise<WebhookRow> {
  const webhook = isUuid(id) ? await lockWebhook(tx, context, id) : null;
  if (!webhook) throw webhookNotFound();
  return webhook;
}
