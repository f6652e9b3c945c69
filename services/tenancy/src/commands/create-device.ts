import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, validationError } from "@muster/kit";
import type { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callContext } from "@muster/rpc";
import { changesBetween } from "../rules/changes.ts";
import {
  cloneReason,
  firstStatus,
  idField,
  type NewDevice,
  newDevice,
  requireEnrollable,
  requireRoom,
} from "../rules/device.ts";
import { checks } from "../rules/fields.ts";
import { countDown, countUp, livingOfPartner } from "../store/device-counts.ts";
import { findOwner, holdSite } from "../store/device-reach.ts";
import {
  enrolledFields,
  findHardwareOwner,
  insertDevice,
  isDiscarded,
  lockDevice,
  lockEnrollment,
  markDecommissioned,
  noteDiscarded,
} from "../store/devices.ts";
import { lockOrganization } from "../store/organizations.ts";
import { lockPartner } from "../store/partners.ts";
import { auditDevice, deviceDecommissioned, deviceMessage, emitDevice, siteNotFound } from "./device-message.ts";
import { organizationNotFound } from "./guards.ts";

type Deps = { db: Database; now: () => Date; heartbeatIntervalSeconds: number };
type Creation = Pick<ServiceImpl<typeof DeviceService>, "createDevice" | "discardDevice">;

/** How enrollment makes devices, and takes back what came to nothing. */
export function deviceCreation({ db, now, heartbeatIntervalSeconds }: Deps): Creation {
  return {
    async createDevice(request, handler) {
      const context = callContext(handler);
      requireService(context);
      const wanted = newDevice(request);
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const { caller } = context;
        const owner = await lockOwner(tx, context, wanted.orgId);
        await lockEnrollment(tx, wanted.id);
        const existing = await lockDevice(tx, caller, wanted.id);
        if (existing && existing.org_id !== wanted.orgId) {
          throw validationError({ id: ["Belongs to a device of another organization"] });
        }
        if (existing && existing.status !== "decommissioned") return existing;
        // The enrollment was given up meanwhile, or the device is gone already: its id is never used again.
        if (existing || (await isDiscarded(tx, wanted.id))) return null;
        requireEnrollable(owner.partner, owner.organization);
        await requireSite(tx, context, wanted);
        await takePlace(tx, owner);
        const ownerId =
          wanted.hardwareId === null ? null : await findHardwareOwner(tx, wanted.orgId, wanted.hardwareId);
        const device = {
          ...wanted,
          partnerId: owner.partner.id,
          status: firstStatus(ownerId !== null),
          quarantineReason: ownerId === null ? null : cloneReason(ownerId),
        };
        const created = await insertDevice(tx, caller, device, at);
        emitDevice(tx, context, "created", created);
        const details = { changes: { before: {}, after: enrolledFields(created) } };
        auditDevice(tx, context, { action: "device.create", row: created, details }, at);
        return created;
      });
      if (row === null) throw deviceDecommissioned();
      return { device: deviceMessage(row), heartbeatIntervalSeconds };
    },

    async discardDevice(request, handler) {
      const context = callContext(handler);
      requireService(context);
      const check = checks();
      const id = idField("id", request.id, check);
      check.done();
      const at = now();
      await db.tx(context, async (tx) => {
        await lockEnrollment(tx, id);
        const stored = await lockDevice(tx, context.caller, id);
        if (stored === null) return noteDiscarded(tx, id);
        if (stored.status === "decommissioned") return;
        const gone = await markDecommissioned(tx, context.caller, id, at);
        await countDown(tx, gone.org_id);
        emitDevice(tx, context, "decommissioned", gone);
        const changes = changesBetween({ status: stored.status }, { status: gone.status });
        const details = { ...changes, reason: "enrollment_incomplete" };
        auditDevice(tx, context, { action: "device.delete", row: gone, details }, at);
      });
      return {};
    },
  };
}

type Owner = Awaited<ReturnType<typeof lockOwner>>;

/** Only services acting by themselves enroll; which of them, the port knows. Throws `permission_denied`. */
function requireService({ caller }: CallContext): void {
  if (caller.actor.type !== "system") throw new AppError("permission_denied", "Devices are created by enrollment");
}

/** Partner, then organization: whoever enrolls locks both in this order, so caps are judged one device after another. */
async function lockOwner(tx: Tx, { caller }: CallContext, orgId: string) {
  const partnerId = await findOwner(tx, caller, orgId);
  const partner = partnerId === null ? null : await lockPartner(tx, partnerId);
  const organization = partner && (await lockOrganization(tx, caller, orgId));
  if (!organization) throw organizationNotFound();
  return { partner, organization };
}

async function requireSite(tx: Tx, { caller }: CallContext, { siteId, orgId }: NewDevice): Promise<void> {
  if (siteId !== null && (await holdSite(tx, caller, siteId)) !== orgId) throw siteNotFound();
}

/** Counts the new device in. Throws `limit_reached`, which undoes it. */
async function takePlace(tx: Tx, { partner, organization }: Owner): Promise<void> {
  requireRoom("organization", await countUp(tx, organization.id, partner.id), organization.max_devices);
  if (partner.max_devices === null) return;
  requireRoom("partner", await livingOfPartner(tx, partner.id), partner.max_devices);
}
