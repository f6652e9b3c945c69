import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { type Site, SiteSchema, SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, requireOrganization, requirePermission } from "@muster/service";
import { type ChangedTenant, recordChange } from "../emits/record-change.ts";
import { changesBetween } from "../rules/changes.ts";
import { checks, searchOf } from "../rules/fields.ts";
import { requireAllSites } from "../rules/guards.ts";
import { organizationOfSiteDenied, siteNotFound } from "../rules/refusals.ts";
import { changeSite, newSite } from "../rules/site.ts";
import { pageInfo } from "../store/name-page.ts";
import type { WithCounts } from "../store/owner-devices.ts";
import {
  deleteSite,
  findSite,
  insertSite,
  listSites,
  lockSite,
  organizationForSite,
  type SiteRow,
  siteExists,
  siteFields,
  updateSite,
  updateSiteLabels,
} from "../store/sites.ts";
import { deviceCountsField, ownerView } from "./owner-view.ts";

type Deps = { db: Database; now: () => Date };

type Handlers = ServiceImpl<typeof SiteService>;

/** Sites, for all callers with access to their organization. */
export function siteService(deps: Deps): ServiceImpl<typeof SiteService> {
  return { ...siteReads(deps), ...siteChanges(deps), ...siteRemoval(deps) };
}

function siteReads(deps: Deps): Pick<Handlers, "listSites" | "getSite"> {
  const { db } = deps;
  return {
    async listSites(request, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:read");
      const page = clampPage(request.page ?? {});
      const filter = {
        orgId: listedOrganization(context, request.orgId),
        search: searchOf(request.search),
        ...ownerView(context, request),
      };
      const { rows, ...listed } = await listSites(db, context, filter, page);
      return { sites: rows.map(siteMessage), page: pageInfo(page, listed) };
    },

    async getSite({ id }, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:read");
      const row = isUuid(id) ? await findSite(db, context, id) : null;
      if (!row) throw await noSuchSite(deps, context, id);
      return { site: siteMessage(row) };
    },
  };
}

function siteChanges(deps: Deps): Pick<Handlers, "createSite" | "updateSite" | "updateSiteLabels"> {
  const { db, now } = deps;
  return {
    async createSite(request, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:write");
      requireAllSites(context);
      const wanted = newSite(request);
      const at = now();
      const orgId = request.orgId.toLowerCase();
      const locate = async (tx: Tx): Promise<string> => {
        const partnerId = isUuid(orgId) ? await organizationForSite(tx, context.caller, orgId) : null;
        if (partnerId === null) throw organizationOfSiteDenied(context.caller);
        return partnerId;
      };
      return idempotentTx(db, context, SiteService.method.createSite, request, locate, async (tx, partnerId) => {
        const created = await insertSite(tx, { id: uuidv7(at.getTime()), orgId, partnerId }, wanted, at);
        const details = { changes: { before: {}, after: siteFields(created) } };
        const tenant = changedSite(created);
        recordChange(tx, context, { tenant, change: "created", action: "site.create", details }, at);
        return { site: siteMessage(created) };
      });
    },

    async updateSite({ id, updateMask, site }, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:write");
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockSite(tx, context.caller, id) : null;
        if (!stored) return null;
        const before = siteFields(stored);
        const after = changeSite(before, updateMask?.paths ?? [], site ?? create(SiteSchema));
        const updated = await updateSite(tx, stored.id, after, at);
        const tenant = changedSite(updated);
        const details = changesBetween(before, after);
        recordChange(tx, context, { tenant, change: "updated", action: "site.update", details }, at);
        return updated;
      });
      if (!row) throw await noSuchSite(deps, context, id);
      return { site: siteMessage(row) };
    },

    async updateSiteLabels({ id, labels, remove }, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:write");
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockSite(tx, context.caller, id) : null;
        if (!stored) return null;
        const kept = Object.entries(stored.labels).filter(([name]) => !remove.includes(name));
        const check = checks();
        const after = check.labels("labels", { ...Object.fromEntries(kept), ...labels });
        check.done();
        const updated = await updateSiteLabels(tx, stored.id, after, at);
        const details = changesBetween({ labels: stored.labels }, { labels: after });
        const tenant = changedSite(updated);
        recordChange(tx, context, { tenant, change: "updated", action: "site.update", details }, at);
        return updated;
      });
      if (!row) throw await noSuchSite(deps, context, id);
      return { site: siteMessage(row) };
    },
  };
}

function siteRemoval(deps: Deps): Pick<Handlers, "deleteSite"> {
  const { db, now } = deps;
  return {
    async deleteSite({ id }, handler) {
      const context = callContext(handler);
      requireAccess(context, "organizations:write");
      requireAllSites(context);
      const at = now();
      const found = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockSite(tx, context.caller, id) : null;
        if (!stored) return false;
        await deleteSite(tx, stored.id);
        const tenant = { ...changedSite(stored), version: stored.version + 1, deleted: true };
        const details = { changes: { before: siteFields(stored), after: {} } };
        recordChange(tx, context, { tenant, change: "deleted", action: "site.delete", details }, at);
        return true;
      });
      if (!found) throw await noSuchSite(deps, context, id);
      return {};
    },
  };
}

/** A missing site differs from one out of scope (docs/behaviour.md#errors). */
async function noSuchSite({ db }: Deps, context: CallContext, id: string): Promise<AppError> {
  const isThere = isUuid(id) && (await siteExists(db, context, id));
  return isThere ? new AppError("site_access_denied", "Access to this site denied") : siteNotFound();
}

function requireAccess(context: CallContext, permission: "organizations:read" | "organizations:write"): void {
  requirePermission(context, permission);
  requireOrganization(context);
}

/** Null lists everything in scope; an organization's users list their own. */
function listedOrganization({ caller }: CallContext, wanted: string): string | null {
  if (wanted === "") return caller.scope === "organization" ? caller.orgId : null;
  if (!isUuid(wanted)) throw organizationOfSiteDenied(caller);
  return wanted;
}

function siteMessage(row: WithCounts<SiteRow>): Site {
  return create(SiteSchema, {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    timezone: row.timezone,
    addressJson: JSON.stringify(row.address),
    contactJson: JSON.stringify(row.contact),
    settingsJson: JSON.stringify(row.settings),
    labels: row.labels,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    ...deviceCountsField(row.counts),
  });
}

function changedSite({ id, name, version, partner_id: partnerId, org_id: orgId }: SiteRow): ChangedTenant {
  return { kind: "site", id, name, version, partnerId, orgId, status: null, deleted: false };
}
