import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { type SavedView, SavedViewSchema, SavedViewService } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, idempotentTx, requireOrganization, requireUser } from "@muster/service";
import { changesBetween } from "../rules/changes.ts";
import { checks, searchOf } from "../rules/fields.ts";
import { organizationNotFound, savedViewNotFound } from "../rules/refusals.ts";
import { maxViews, newSavedView, requireSharing, savedViewChange } from "../rules/saved-view.ts";
import { pageInfo } from "../store/name-page.ts";
import {
  countSavedViews,
  deleteSavedView,
  findSavedView,
  insertSavedView,
  listSavedViews,
  lockSavedView,
  type SavedViewRow,
  savedViewFields,
  updateSavedView,
  type ViewTenant,
} from "../store/saved-views.ts";
import { tenantOfNew } from "./new-tenant.ts";

type Deps = { db: Database; now: () => Date };

type Handlers = ServiceImpl<typeof SavedViewService>;

/** Named queries of users, for themselves or shared in a tenant. */
export function savedViewService(deps: Deps): ServiceImpl<typeof SavedViewService> {
  return { ...viewReads(deps), ...viewCreation(deps), ...viewChanges(deps) };
}

function viewReads({ db }: Deps): Pick<Handlers, "listSavedViews" | "getSavedView"> {
  return {
    async listSavedViews(request, handler) {
      const context = callContext(handler);
      admit(context);
      const page = clampPage(request.page ?? {});
      if (request.orgId !== "" && !isUuid(request.orgId)) throw organizationNotFound();
      const check = checks();
      const resource = check.text("resource", request.resource, 50);
      check.done();
      const filter = { orgId: request.orgId, resource, search: searchOf(request.search) };
      const found = await listSavedViews(db, context, filter, page);
      if (!found) throw organizationNotFound();
      const { rows, ...listed } = found;
      return { views: rows.map(viewMessage), page: pageInfo(page, listed) };
    },

    async getSavedView({ id }, handler) {
      const context = callContext(handler);
      admit(context);
      const row = isUuid(id) ? await findSavedView(db, context, id) : null;
      if (!row) throw savedViewNotFound();
      return { view: viewMessage(row) };
    },
  };
}

function viewCreation({ db, now }: Deps): Pick<Handlers, "createSavedView"> {
  return {
    async createSavedView(request, handler) {
      const context = callContext(handler);
      admit(context);
      const wanted = newSavedView(request);
      const at = now();
      const ownerId = context.caller.actor.id;
      const locate = async (tx: Tx): Promise<ViewTenant> => {
        const tenant = await tenantOfNew(tx, context, request.orgId);
        requireSharing(context.caller, { ...wanted, org_id: tenant.orgId, partner_id: tenant.partnerId });
        return tenant;
      };
      const { createSavedView } = SavedViewService.method;
      return idempotentTx(db, context, createSavedView, request, locate, async (tx, tenant) => {
        await requireRoomFor(tx, ownerId, tenant, wanted.shared);
        const created = await insertSavedView(tx, { ...tenant, id: uuidv7(at.getTime()), ownerId }, wanted, at);
        const after = { ...savedViewFields(created), resource: created.resource };
        audit(tx, context, "saved_view.create", created, { changes: { before: {}, after } }, at);
        return { view: viewMessage(created) };
      });
    },
  };
}

function viewChanges({ db, now }: Deps): Pick<Handlers, "updateSavedView" | "deleteSavedView"> {
  return {
    async updateSavedView({ id, updateMask, view }, handler) {
      const context = callContext(handler);
      admit(context);
      const change = savedViewChange(updateMask?.paths ?? [], view ?? create(SavedViewSchema));
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = await lockChangeable(tx, context, id);
        const before = savedViewFields(stored);
        const after = { ...before, ...change };
        requireSharing(context.caller, { ...stored, shared: after.shared });
        if (after.shared !== before.shared) {
          const tenant = { orgId: stored.org_id, partnerId: stored.partner_id };
          await requireRoomFor(tx, stored.owner_id, tenant, after.shared);
        }
        const updated = await updateSavedView(tx, stored.id, after, at);
        audit(tx, context, "saved_view.update", updated, changesBetween(before, after), at);
        return updated;
      });
      return { view: viewMessage(row) };
    },

    async deleteSavedView({ id }, handler) {
      const context = callContext(handler);
      admit(context);
      const at = now();
      await db.tx(context, async (tx) => {
        const stored = await lockChangeable(tx, context, id);
        await deleteSavedView(tx, stored.id);
        audit(
          tx,
          context,
          "saved_view.delete",
          stored,
          { changes: { before: savedViewFields(stored), after: {} } },
          at,
        );
      });
      return {};
    },
  };
}

function admit(context: CallContext): void {
  requireUser(context);
  requireOrganization(context);
}

async function lockChangeable(tx: Tx, { caller }: CallContext, id: string): Promise<SavedViewRow> {
  const stored = isUuid(id) ? await lockSavedView(tx, caller, id) : null;
  if (!stored) throw savedViewNotFound();
  requireSharing(caller, stored);
  return stored;
}

/** Throws `limit_reached`. */
async function requireRoomFor(tx: Tx, ownerId: string, tenant: ViewTenant, shared: boolean): Promise<void> {
  if ((await countSavedViews(tx, ownerId, tenant, shared)) < maxViews) return;
  throw new AppError("limit_reached", "No more saved views can be created here", { facts: { limit: maxViews } });
}

function audit(
  tx: Tx,
  context: CallContext,
  action: string,
  row: SavedViewRow,
  details: Record<string, unknown>,
  at: Date,
): void {
  const resource = { type: "saved_view", id: row.id, name: row.name };
  tx.emit(
    auditEvent("tenancy", context, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, at),
  );
}

function viewMessage(row: SavedViewRow): SavedView {
  return create(SavedViewSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    partnerId: row.partner_id ?? "",
    ownerId: row.owner_id,
    name: row.name,
    resource: row.resource,
    queryJson: JSON.stringify(row.query),
    shared: row.shared,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
