import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { PartnerSchema, PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requirePermission, requireScope } from "@muster/service";
import { recordChange } from "../emits/record-change.ts";
import { changesBetween } from "../rules/changes.ts";
import { searchOf } from "../rules/fields.ts";
import { changePartner, newPartner } from "../rules/partner.ts";
import { partnerNotFound } from "../rules/refusals.ts";
import { pageInfo } from "../store/name-page.ts";
import {
  findPartner,
  insertPartner,
  listPartners,
  lockPartner,
  markPartnerDeleted,
  partnerFields,
  updatePartner,
} from "../store/partners.ts";
import { ownPartner } from "./own-partner.ts";
import { changedPartner, partnerMessage } from "./partner-message.ts";

type Deps = { db: Database; now: () => Date };

function requireSystem(context: CallContext, permission: "organizations:read" | "organizations:write"): void {
  requireScope(context, "system");
  requirePermission(context, permission);
}

/** Partners: all of them for system callers, their own for partner callers. */
export function partnerService(deps: Deps): ServiceImpl<typeof PartnerService> {
  const { db, now } = deps;
  return {
    ...ownPartner(deps),

    async createPartner(request, handler) {
      const context = callContext(handler);
      requireSystem(context, "organizations:write");
      const wanted = newPartner(request);
      const at = now();
      return idempotentTx(db, context, PartnerService.method.createPartner, request, checkedBefore, async (tx) => {
        const created = await insertPartner(tx, uuidv7(at.getTime()), wanted, at);
        const details = { changes: { before: {}, after: partnerFields(created) } };
        const tenant = changedPartner(created);
        recordChange(tx, context, { tenant, change: "created", action: "partner.create", details }, at);
        return { partner: partnerMessage(created, context.caller.orgAccess) };
      });
    },

    async listPartners(request, handler) {
      const context = callContext(handler);
      requireSystem(context, "organizations:read");
      const page = clampPage(request.page ?? {});
      const { rows, ...listed } = await listPartners(db, context, searchOf(request.search), page);
      const { orgAccess } = context.caller;
      return { partners: rows.map((row) => partnerMessage(row, orgAccess)), page: pageInfo(page, listed) };
    },

    async getPartner(request, handler) {
      const context = callContext(handler);
      requireSystem(context, "organizations:read");
      const row = isUuid(request.id) ? await findPartner(db, context, request.id) : null;
      if (!row) throw partnerNotFound();
      return { partner: partnerMessage(row, context.caller.orgAccess) };
    },

    async updatePartner({ id, updateMask, partner }, handler) {
      const context = callContext(handler);
      requireSystem(context, "organizations:write");
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockPartner(tx, id) : null;
        if (!stored) throw partnerNotFound();
        const before = partnerFields(stored);
        const after = changePartner(before, updateMask?.paths ?? [], partner ?? create(PartnerSchema));
        const updated = await updatePartner(tx, stored.id, after, at);
        const details = changesBetween(before, after);
        const tenant = changedPartner(updated);
        recordChange(tx, context, { tenant, change: "updated", action: "partner.update", details }, at);
        return updated;
      });
      return { partner: partnerMessage(row, context.caller.orgAccess) };
    },

    async deletePartner({ id }, handler) {
      const context = callContext(handler);
      requireSystem(context, "organizations:write");
      const at = now();
      await db.tx(context, async (tx) => {
        const deleted = isUuid(id) ? await markPartnerDeleted(tx, id, at) : null;
        if (!deleted) throw partnerNotFound();
        const details = { changes: { before: partnerFields(deleted), after: {} } };
        const tenant = changedPartner(deleted);
        recordChange(tx, context, { tenant, change: "deleted", action: "partner.delete", details }, at);
      });
      return {};
    },
  };
}
