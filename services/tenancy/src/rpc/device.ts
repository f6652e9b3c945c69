import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid } from "@muster/kit";
import { DeviceSchema, type DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callContext } from "@muster/rpc";
import { requireOrganization, requirePermission } from "@muster/service";
import { approveDevice, rejectDevice } from "../commands/approve-device.ts";
import { changeDevice, decommissionDevice } from "../commands/change-device.ts";
import { createDevice, discardDevice } from "../commands/create-device.ts";
import { deviceChange, idField, newDevice } from "../rules/device.ts";
import { checks } from "../rules/fields.ts";
import { deviceNotFound, organizationNotFound } from "../rules/refusals.ts";
import { countByStatus, listDevices } from "../store/device-list.ts";
import { findDevice, forgetEnrollmentKey } from "../store/devices.ts";
import { pageInfo } from "../store/name-page.ts";
import { deviceFilter, deviceOwners } from "./device-filter.ts";
import { deviceMessage } from "./device-message.ts";
import { requireFilterTargets } from "./filter-targets.ts";

/** Devices of a deleted key per transaction. */
const forgottenAtOnce = 1_000;

type Deps = { db: Database; now: () => Date; heartbeatIntervalSeconds: number };

type Handlers = ServiceImpl<typeof DeviceService>;

/** Device records: created by enrollment, read and changed by people within their organizations and sites. */
export function deviceService(deps: Deps): ServiceImpl<typeof DeviceService> {
  return { ...deviceReads(deps), ...deviceEnrollment(deps), ...deviceReview(deps), ...deviceChanges(deps) };
}

function deviceReads({ db }: Deps): Pick<Handlers, "listDevices" | "countDevices" | "getDevice"> {
  return {
    async listDevices(request, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const filter = deviceFilter(request);
      const page = clampPage(request.page ?? {});
      await requireFilterTargets(db, context, filter);
      const found = await listDevices(db, context, filter, page);
      if (!found) throw organizationNotFound();
      const { rows, ...listed } = found;
      return { devices: rows.map(deviceMessage), page: pageInfo(page, listed) };
    },

    async countDevices(request, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const owners = deviceOwners(request);
      await requireFilterTargets(db, context, owners);
      const counts = await countByStatus(db, context, owners);
      if (!counts) throw organizationNotFound();
      return { counts: counts.map((each) => ({ ...each, count: BigInt(each.count) })) };
    },

    async getDevice({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const row = isUuid(id) ? await findDevice(db, context, id) : null;
      if (!row) throw deviceNotFound();
      return { device: deviceMessage(row) };
    },
  };
}

function deviceEnrollment(deps: Deps): Pick<Handlers, "createDevice" | "discardDevice" | "forgetEnrollmentKey"> {
  const { heartbeatIntervalSeconds, db } = deps;
  return {
    async createDevice(request, handler) {
      const context = callContext(handler);
      requireService(context);
      const row = await createDevice(deps, context, newDevice(request));
      return { device: deviceMessage(row), heartbeatIntervalSeconds };
    },

    async forgetEnrollmentKey(request, handler) {
      const context = callContext(handler);
      requireService(context);
      const check = checks();
      const id = idField("id", request.id, check);
      check.done();
      while ((await db.tx(context, (tx) => forgetEnrollmentKey(tx, id, forgottenAtOnce))) === forgottenAtOnce);
      return {};
    },

    async discardDevice(request, handler) {
      const context = callContext(handler);
      requireService(context);
      const check = checks();
      const id = idField("id", request.id, check);
      check.done();
      await discardDevice(deps, context, id);
      return {};
    },
  };
}

function deviceReview(deps: Deps): Pick<Handlers, "approveDevice" | "rejectDevice"> {
  return {
    async approveDevice(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:write");
      if (request.replace || request.merge) requirePermission(context, "devices:delete");
      requireOrganization(context);
      return { device: deviceMessage(await approveDevice(deps, context, request)) };
    },

    async rejectDevice({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:delete");
      await rejectDevice(deps, context, id);
      return {};
    },
  };
}

function deviceChanges({ db, now }: Deps): Pick<Handlers, "updateDevice" | "decommissionDevice"> {
  return {
    async updateDevice({ id, updateMask, device }, handler) {
      const context = callContext(handler);
      admit(context, "devices:write");
      const change = deviceChange(updateMask?.paths ?? [], device ?? create(DeviceSchema));
      const at = now();
      const row = await db.tx(context, (tx) => changeDevice(tx, context, id, change, at));
      return { device: deviceMessage(row) };
    },

    async decommissionDevice({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:delete");
      const at = now();
      await db.tx(context, (tx) => decommissionDevice(tx, context, id, at));
      return {};
    },
  };
}

/** Only services acting by themselves enroll; which of them, the port knows. Throws `permission_denied`. */
function requireService({ caller }: CallContext): void {
  if (caller.actor.type !== "system") throw new AppError("permission_denied", "Devices are created by enrollment");
}

function admit(context: CallContext, permission: "devices:read" | "devices:write" | "devices:delete"): void {
  requirePermission(context, permission);
  requireOrganization(context);
}
