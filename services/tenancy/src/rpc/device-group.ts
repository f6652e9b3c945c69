import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { DeviceGroupSchema, DeviceGroupService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, requireOrganization, requirePermission } from "@muster/service";
import { auditDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import { deviceGroupChange, newDeviceGroup } from "../rules/device-group.ts";
import { searchOf } from "../rules/fields.ts";
import { requireAllSites } from "../rules/guards.ts";
import { deviceGroupNotFound, organizationNotFound, siteNotFound } from "../rules/refusals.ts";
import {
  deleteDeviceGroup,
  deviceGroupFields,
  findDeviceGroup,
  insertDeviceGroup,
  listDeviceGroups,
  lockDeviceGroup,
  updateDeviceGroup,
} from "../store/device-groups.ts";
import { findOwner, holdSite } from "../store/device-scope.ts";
import { pageInfo } from "../store/name-page.ts";
import { deviceOwners } from "./device-filter.ts";
import { deviceMembership } from "./device-members.ts";
import { deviceGroupMessage } from "./device-message.ts";
import { requireFilterTargets } from "./filter-targets.ts";

type Deps = { db: Database; now: () => Date };

type Handlers = ServiceImpl<typeof DeviceGroupService>;

/** Groups of an organization's devices, of one site or of the organization as a whole. */
export function deviceGroupService(deps: Deps): ServiceImpl<typeof DeviceGroupService> {
  return { ...groupReads(deps), ...groupChanges(deps), ...deviceMembership(deps) };
}

function groupReads({ db }: Deps): Pick<Handlers, "listDeviceGroups" | "getDeviceGroup"> {
  return {
    async listDeviceGroups(request, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const owners = deviceOwners({ orgId: request.orgId, siteId: request.siteId, groupId: "" });
      const filter = { ...owners, search: searchOf(request.search) };
      const page = clampPage(request.page ?? {});
      await requireFilterTargets(db, context, filter);
      const found = await listDeviceGroups(db, context, filter, page);
      if (!found) throw organizationNotFound();
      const { rows, ...listed } = found;
      return { groups: rows.map(deviceGroupMessage), page: pageInfo(page, listed) };
    },

    async getDeviceGroup({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const row = isUuid(id) ? await findDeviceGroup(db, context, id) : null;
      if (!row) throw deviceGroupNotFound();
      return { group: deviceGroupMessage(row) };
    },
  };
}

function groupChanges({
  db,
  now,
}: Deps): Pick<Handlers, "createDeviceGroup" | "updateDeviceGroup" | "deleteDeviceGroup"> {
  return {
    async createDeviceGroup(request, handler) {
      const context = callContext(handler);
      admit(context, "devices:write");
      const wanted = newDeviceGroup(request);
      if (wanted.siteId === null) requireAllSites(context);
      const orgId = organizationOfNew(context, request.orgId);
      const at = now();
      const locate = async (tx: Tx): Promise<string> => {
        const { caller } = context;
        const partnerId = await findOwner(tx, caller, orgId);
        if (partnerId === null) throw organizationNotFound();
        if (wanted.siteId !== null && (await holdSite(tx, caller, wanted.siteId)) !== orgId) throw siteNotFound();
        return partnerId;
      };
      const { createDeviceGroup } = DeviceGroupService.method;
      return idempotentTx(db, context, createDeviceGroup, request, locate, async (tx, partnerId) => {
        const created = await insertDeviceGroup(tx, { id: uuidv7(at.getTime()), orgId, partnerId }, wanted, at);
        const details = { changes: { before: {}, after: deviceGroupFields(created) } };
        auditDevice(tx, context, { action: "device_group.create", row: created, details }, at);
        return { group: deviceGroupMessage(created) };
      });
    },

    async updateDeviceGroup({ id, updateMask, group }, handler) {
      const context = callContext(handler);
      admit(context, "devices:write");
      const change = deviceGroupChange(updateMask?.paths ?? [], group ?? create(DeviceGroupSchema));
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const { caller } = context;
        // The site before the group, as a site's deletion locks them.
        const siteOrg = change.siteId ? await holdSite(tx, caller, change.siteId) : null;
        const stored = isUuid(id) ? await lockDeviceGroup(tx, caller, id) : null;
        if (!stored) throw deviceGroupNotFound();
        if (change.siteId === null) requireAllSites(context);
        if (change.siteId && siteOrg !== stored.org_id) throw siteNotFound();
        const before = deviceGroupFields(stored);
        const after = { ...before, ...change };
        const updated = await updateDeviceGroup(tx, stored.id, after, at);
        const details = changesBetween(before, after);
        auditDevice(tx, context, { action: "device_group.update", row: updated, details }, at);
        return updated;
      });
      return { group: deviceGroupMessage(row) };
    },

    async deleteDeviceGroup({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:delete");
      const at = now();
      await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockDeviceGroup(tx, context.caller, id) : null;
        if (!stored) throw deviceGroupNotFound();
        await deleteDeviceGroup(tx, stored.id);
        const details = { changes: { before: deviceGroupFields(stored), after: {} } };
        auditDevice(tx, context, { action: "device_group.delete", row: stored, details }, at);
      });
      return {};
    },
  };
}

function admit(context: CallContext, permission: "devices:read" | "devices:write" | "devices:delete"): void {
  requirePermission(context, permission);
  requireOrganization(context);
}

/** For organization callers their own organization; others must name one. Throws `organization_context_required`. */
function organizationOfNew({ caller }: CallContext, wanted: string): string {
  const orgId = wanted === "" && caller.scope === "organization" ? (caller.orgId ?? "") : wanted;
  if (orgId === "") throw new AppError("organization_context_required", "Organization context required");
  if (!isUuid(orgId)) throw organizationNotFound();
  return orgId.toLowerCase();
}
