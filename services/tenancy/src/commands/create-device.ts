import type { Database, Tx } from "@muster/db";
import { type CallContext, validationError } from "@muster/kit";
import { auditDevice, emitDevice } from "../emits/device.ts";
import { changesBetween } from "../rules/changes.ts";
import { cloneReason, type NewDevice, reinstallOf, requireEnrollable, requireRoom } from "../rules/device.ts";
import { deviceDecommissioned, organizationNotFound, siteNotFound } from "../rules/refusals.ts";
import { countDown, countUp, devicesOfPartner } from "../store/device-counts.ts";
import { findOwner, holdSite } from "../store/device-scope.ts";
import {
  type DeviceRow,
  enrolledFields,
  findDeviceById,
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
import { inherit, lockReplaced, retire } from "./replace-device.ts";

type Deps = { db: Database; now: () => Date };

/**
 * Creates an enrollment's device; returns the existing one when the id repeats. Throws `organization_not_found`,
 * `site_not_found`, `limit_reached`, `validation_failed` when the id is another organization's, and
 * `device_decommissioned` when the enrollment was rolled back or the device is deleted.
 */
export async function createDevice({ db, now }: Deps, context: CallContext, wanted: NewDevice): Promise<DeviceRow> {
  const at = now();
  const { caller, meta, deadlineMs } = context;
  // Enrollments of a partner wait for one another's locks: not with the connections of all other tenants.
  const row = await db.tx({ caller, meta, deadlineMs, actsFor: wanted.orgId }, async (tx) => {
    const owner = await lockOwner(tx, context, wanted.orgId);
    await lockEnrollment(tx, wanted.id);
    const existing = await lockDevice(tx, caller, wanted.id);
    if (existing && existing.org_id !== wanted.orgId) {
      throw validationError({ id: ["Belongs to a device of another organization"] });
    }
    if (existing && existing.status !== "decommissioned") return existing;
    // The enrollment was rolled back meanwhile, or the device is already deleted: its id is never used again.
    if (existing || (await isDiscarded(tx, wanted.id))) return null;
    requireEnrollable(owner.partner, owner.organization);
    await requireSite(tx, context, wanted);
    const same = await lockSameMachine(tx, context, wanted);
    const reinstall = reinstallOf(same?.device ?? null, wanted.reinstall);
    const replaced = reinstall === "replace" ? same : null;
    // Before it is counted: at its limit an organization can still replace its devices.
    if (replaced) await retire(tx, context, replaced.device, wanted, at);
    await countIn(tx, owner);
    const isClone = reinstall === "quarantine";
    const device = {
      ...wanted,
      partnerId: owner.partner.id,
      status: isClone ? "quarantined" : "offline",
      quarantineReason: isClone && same ? cloneReason(same.device.id) : null,
      shared: reinstall === "new",
    };
    const inserted = await insertDevice(tx, caller, device, at);
    const { siteId } = replaced ?? {};
    const created = replaced
      ? await inherit(tx, caller, { device: inserted, from: replaced.device, siteId: siteId ?? null })
      : inserted;
    emitDevice(tx, context, "created", created);
    const details = {
      changes: { before: {}, after: enrolledFields(created) },
      ...(replaced ? { replaces: replaced.device.id, replacesName: replaced.device.hostname } : {}),
    };
    auditDevice(tx, context, { action: "device.create", row: created, details }, at);
    return created;
  });
  if (row === null) throw deviceDecommissioned();
  return row;
}

/** Deletes the device of a failed enrollment, or prevents its id from ever being used. */
export async function discardDevice({ db, now }: Deps, context: CallContext, id: string): Promise<void> {
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
}

type Owner = Awaited<ReturnType<typeof lockOwner>>;

/**
 * Partner, then organization: every enrollment locks both in this order, so that limits are checked for one device
 * after another.
 */
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

/** The trusted device of the same machine, locked; null when there is none. */
async function lockSameMachine(tx: Tx, { caller }: CallContext, { orgId, hardwareId }: NewDevice) {
  const ownerId = hardwareId === null ? null : await findHardwareOwner(tx, orgId, hardwareId);
  const seen = ownerId === null ? null : await findDeviceById(tx, caller, ownerId);
  const found = seen && (await lockReplaced(tx, caller, { id: seen.id, siteId: seen.site_id }));
  // Decommissioned meanwhile.
  return found?.device.status === "decommissioned" ? null : found;
}

/** Counts the new device in. Throws `limit_reached`, which undoes it. */
async function countIn(tx: Tx, { partner, organization }: Owner): Promise<void> {
  requireRoom("organization", await countUp(tx, organization.id, partner.id), organization.max_devices);
  if (partner.max_devices === null) return;
  requireRoom("partner", await devicesOfPartner(tx, partner.id), partner.max_devices);
}
