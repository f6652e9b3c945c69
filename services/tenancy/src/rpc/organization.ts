import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { OrganizationSchema, OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requireOrganization, requirePermission, requireScope } from "@muster/service";
import { recordChange } from "../emits/record-change.ts";
import { changesBetween } from "../rules/changes.ts";
import { searchOf } from "../rules/fields.ts";
import { requireAllSites } from "../rules/guards.ts";
import { changeOrganization, newOrganization } from "../rules/organization.ts";
import { organizationNotFound, partnerNotFound } from "../rules/refusals.ts";
import { pageInfo } from "../store/name-page.ts";
import {
  findOrganization,
  hasOrganizations,
  insertOrganization,
  listOrganizations,
  listOrganizationsInScope,
  lockOrganization,
  markOrganizationDeleted,
  organizationFields,
  updateOrganization,
} from "../store/organizations.ts";
import { findPartner, lockPartner } from "../store/partners.ts";
import { changedOrganization, organizationMessage } from "./organization-message.ts";
import { ownerView } from "./owner-view.ts";

type Deps = { db: Database; now: () => Date };

/** Most organizations that are answered without pages. */
const maxUnpaged = 10_000;

type Handlers = ServiceImpl<typeof OrganizationService>;

/**
 * Organizations as partner and system callers manage them; an organization's people only see their own in the plain
 * list.
 */
export function organizationService(deps: Deps): ServiceImpl<typeof OrganizationService> {
  return { ...organizationReads(deps), ...organizationChanges(deps) };
}

function organizationReads({
  db,
}: Deps): Pick<Handlers, "listOrganizations" | "listAccessibleOrganizations" | "getOrganization"> {
  return {
    async listOrganizations(request, handler) {
      const context = callContext(handler);
      requireScope(context, "partner", "system");
      requirePermission(context, "organizations:read");
      const page = clampPage(request.page ?? {});
      const view = ownerView(context, request);
      const partnerId = request.partnerId === "" ? null : request.partnerId.toLowerCase();
      if (partnerId !== null) await requirePartner(db, context, partnerId);
      const { rows, ...listed } = await listOrganizations(
        db,
        context,
        { partnerId, search: searchOf(request.search), ...view },
        page,
      );
      return { organizations: rows.map(organizationMessage), page: pageInfo(page, listed) };
    },

    async listAccessibleOrganizations(_request, handler) {
      const context = callContext(handler);
      requirePermission(context, "organizations:read");
      requireOrganization(context);
      const rows = await listOrganizationsInScope(db, context, maxUnpaged);
      return { organizations: rows.map(organizationMessage) };
    },

    async getOrganization(request, handler) {
      const context = callContext(handler);
      requireScope(context, "partner", "system");
      requirePermission(context, "organizations:read");
      const row = isUuid(request.id) ? await findOrganization(db, context, request.id) : null;
      if (!row) throw organizationNotFound();
      return { organization: organizationMessage(row) };
    },
  };
}

function organizationChanges({
  db,
  now,
}: Deps): Pick<Handlers, "createOrganization" | "updateOrganization" | "deleteOrganization"> {
  return {
    async createOrganization(request, handler) {
      const context = callContext(handler);
      requireWrite(context);
      const partnerId = partnerOfNew(context, request.partnerId);
      const wanted = newOrganization(request);
      const at = now();
      return idempotentTx(
        db,
        context,
        OrganizationService.method.createOrganization,
        request,
        checkedBefore,
        async (tx) => {
          await requireOrganizationLimit(tx, partnerId);
          const created = await insertOrganization(tx, { id: uuidv7(at.getTime()), partnerId }, wanted, at);
          const after = organizationFields(created);
          const details = { partnerId, status: created.status, type: created.type, changes: { before: {}, after } };
          const tenant = changedOrganization(created);
          recordChange(tx, context, { tenant, change: "created", action: "organization.create", details }, at);
          return { organization: organizationMessage(created) };
        },
      );
    },

    async updateOrganization({ id, updateMask, organization }, handler) {
      const context = callContext(handler);
      requireWrite(context);
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockOrganization(tx, context.caller, id) : null;
        if (!stored) throw organizationNotFound();
        const before = organizationFields(stored);
        const patch = organization ?? create(OrganizationSchema);
        const after = changeOrganization(before, updateMask?.paths ?? [], patch);
        const updated = await updateOrganization(tx, stored.id, after, at);
        const details = changesBetween(before, after);
        const tenant = changedOrganization(updated);
        recordChange(tx, context, { tenant, change: "updated", action: "organization.update", details }, at);
        return updated;
      });
      return { organization: organizationMessage(row) };
    },

    async deleteOrganization({ id }, handler) {
      const context = callContext(handler);
      requireWrite(context);
      const at = now();
      await db.tx(context, async (tx) => {
        const deleted = isUuid(id) ? await markOrganizationDeleted(tx, context.caller, id, at) : null;
        if (!deleted) throw organizationNotFound();
        const details = { changes: { before: organizationFields(deleted), after: {} } };
        const tenant = changedOrganization(deleted);
        recordChange(tx, context, { tenant, change: "deleted", action: "organization.delete", details }, at);
      });
      return {};
    },
  };
}

function requireWrite(context: CallContext): void {
  requireScope(context, "partner", "system");
  requirePermission(context, "organizations:write");
  requireAllSites(context);
}

/** The partner that a new organization gets, by the scope of the caller. */
function partnerOfNew({ caller }: CallContext, wanted: string): string {
  const wantedId = wanted.toLowerCase();
  if (caller.scope === "system") {
    if (wanted === "") throw new AppError("partner_id_required", "partnerId is required for system scope");
    if (!isUuid(wantedId)) throw partnerNotFound();
    return wantedId;
  }
  if (caller.partnerId === null) {
    throw new AppError("partner_context_required", "Partner context required to create organizations");
  }
  if (wanted !== "" && wantedId !== caller.partnerId.toLowerCase()) {
    throw new AppError("partner_access_denied", "Access denied to this partner");
  }
  // A user limited to a list of organizations could not even see the new one.
  if (caller.orgAccess.mode !== "all") {
    throw new AppError("scope_not_allowed", "Creating organizations needs access to all organizations of the partner");
  }
  return caller.partnerId;
}

/** Locks the partner, so that parallel creations are counted one after another. Throws `limit_reached`. */
async function requireOrganizationLimit(tx: Tx, partnerId: string): Promise<void> {
  const partner = await lockPartner(tx, partnerId);
  if (!partner) throw partnerNotFound();
  const limit = partner.max_organizations;
  if (limit !== null && (await hasOrganizations(tx, partnerId, limit))) {
    throw new AppError("limit_reached", "The partner's limit of organizations is reached", { facts: { limit } });
  }
}

async function requirePartner(db: Database, context: CallContext, partnerId: string): Promise<void> {
  const { scope, partnerId: own } = context.caller;
  const inScope = scope === "system" || own?.toLowerCase() === partnerId;
  if (!inScope || !isUuid(partnerId) || !(await findPartner(db, context, partnerId))) throw partnerNotFound();
}
