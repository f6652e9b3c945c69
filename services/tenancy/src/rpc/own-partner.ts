import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { type CallContext, type Caller, isUuid, validationError } from "@muster/kit";
import { PartnerSchema, type PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { callContext } from "@muster/rpc";
import { requirePermission, requireScope } from "@muster/service";
import { recordChange } from "../emits/record-change.ts";
import { changesBetween } from "../rules/changes.ts";
import { requireAllSites } from "../rules/guards.ts";
import { maxOrderedOrganizations, organizationOrder } from "../rules/organization-order.ts";
import { changePartner, ownPartnerPaths } from "../rules/partner.ts";
import { partnerNotFound } from "../rules/refusals.ts";
import { orderableOrganizations } from "../store/organizations.ts";
import { findPartner, lockPartner, partnerFields, updateOrganizationOrder, updatePartner } from "../store/partners.ts";
import { changedPartner, partnerMessage } from "./partner-message.ts";

type Deps = { db: Database; now: () => Date };
type OwnPartner = Pick<
  ServiceImpl<typeof PartnerService>,
  "getOwnPartner" | "updateOwnPartner" | "setOrganizationOrder"
>;

/** What partner callers do with their own partner. */
export function ownPartner({ db, now }: Deps): OwnPartner {
  return {
    async getOwnPartner(_request, handler) {
      const context = callContext(handler);
      requireScope(context, "partner");
      requirePermission(context, "organizations:read");
      const { partnerId, orgAccess } = context.caller;
      const row = partnerId === null ? null : await findPartner(db, context, partnerId);
      if (!row) throw partnerNotFound();
      return { partner: partnerMessage(row, orgAccess) };
    },

    async updateOwnPartner({ updateMask, partner }, handler) {
      const context = callContext(handler);
      requireOwnWrite(context, "partner:policy");
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = context.caller.partnerId === null ? null : await lockPartner(tx, context.caller.partnerId);
        if (!stored) throw partnerNotFound();
        const before = partnerFields(stored);
        const paths = updateMask?.paths ?? [];
        const after = changePartner(before, paths, partner ?? create(PartnerSchema), ownPartnerPaths);
        const updated = await updatePartner(tx, stored.id, after, at);
        const details = changesBetween(before, after);
        const tenant = changedPartner(updated);
        recordChange(tx, context, { tenant, change: "updated", action: "partner.settings.update", details }, at);
        return updated;
      });
      return { partner: partnerMessage(row, context.caller.orgAccess) };
    },

    async setOrganizationOrder({ organizationOrder: wanted }, handler) {
      const context = callContext(handler);
      requireOwnWrite(context, "organizations:write");
      if (wanted.length > maxOrderedOrganizations) {
        throw validationError({ organizationOrder: [`At most ${maxOrderedOrganizations} organizations`] });
      }
      const { caller } = context;
      const at = now();
      const order = await db.tx(context, async (tx) => {
        const stored = caller.partnerId === null ? null : await lockPartner(tx, caller.partnerId);
        if (!stored) throw partnerNotFound();
        const ids = wanted.filter(isUuid).map((id) => id.toLowerCase());
        const { existing, registered } = await orderableOrganizations(tx, caller, ids, maxOrderedOrganizations);
        const ordered = organizationOrder(ids, existing, registered);
        const kept = [...ordered, ...outOfScope(stored.organization_order, caller)].slice(0, maxOrderedOrganizations);
        const updated = await updateOrganizationOrder(tx, stored.id, kept, at);
        const details = changesBetween(
          { organizationOrder: stored.organization_order },
          { organizationOrder: updated.organization_order },
        );
        const tenant = changedPartner(updated);
        recordChange(tx, context, { tenant, change: "updated", action: "partner.settings.update", details }, at);
        return ordered;
      });
      return { organizationOrder: order };
    },
  };
}

function requireOwnWrite(context: CallContext, permission: "partner:policy" | "organizations:write"): void {
  requireScope(context, "partner");
  requirePermission(context, permission);
  requireAllSites(context);
}

/** A caller with access to only a list of organizations orders these; the others keep their order, after them. */
function outOfScope(stored: string[], { orgAccess }: Caller): string[] {
  if (orgAccess.mode === "all") return [];
  const inScope = new Set(orgAccess.orgIds);
  return stored.filter((id) => !inScope.has(id));
}
