import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { type CallContext, isUuid } from "@muster/kit";
import { DeviceGroupService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, requireOrganization, requirePermission } from "@muster/service";
import { auditDevice, emitDevice } from "../emits/device.ts";
import { membershipIds } from "../rules/device-group.ts";
import { deviceDecommissioned, deviceGroupNotFound, deviceNotFound } from "../rules/refusals.ts";
import { type DeviceGroupRow, holdDeviceGroup } from "../store/device-groups.ts";
import { addMembers, removeMembers } from "../store/device-members.ts";
import { type DeviceRow, lockDevices } from "../store/devices.ts";

type Deps = { db: Database; now: () => Date };
type Membership = Pick<ServiceImpl<typeof DeviceGroupService>, "addDevices" | "removeDevices">;
type Ends = { group: DeviceGroupRow; devices: DeviceRow[]; ids: string[] };

/** Which devices are in a group. All devices named must be in scope, or nothing happens. */
export function deviceMembership({ db, now }: Deps): Membership {
  return {
    async addDevices(request, handler) {
      const context = callContext(handler);
      admit(context);
      const ids = membershipIds(request.deviceIds);
      const at = now();
      const locate = (tx: Tx) => lockEnds(tx, context, request.groupId, ids);
      return idempotentTx(db, context, DeviceGroupService.method.addDevices, request, locate, async (tx, ends) => {
        const { group, devices } = ends;
        const gone = devices.filter((device) => device.status === "decommissioned").map(({ id }) => id);
        if (gone.length > 0) throw deviceDecommissioned({ deviceIds: gone });
        const rows = await addMembers(tx, context.caller, group, ids, at);
        recordMembers(tx, context, group, { before: [], after: rows }, at);
        return { added: rows.length };
      });
    },

    async removeDevices({ groupId, deviceIds }, handler) {
      const context = callContext(handler);
      admit(context);
      const ids = membershipIds(deviceIds);
      const at = now();
      const removed = await db.tx(context, async (tx) => {
        const { group } = await lockEnds(tx, context, groupId, ids);
        const rows = await removeMembers(tx, context.caller, group, ids, at);
        recordMembers(tx, context, group, { before: rows, after: [] }, at);
        return rows.length;
      });
      return { removed };
    },
  };
}

function admit(context: CallContext): void {
  requirePermission(context, "devices:write");
  requireOrganization(context);
}

/**
 * The devices before the group, as a site's deletion locks them. Throws `device_group_not_found`, `device_not_found`.
 */
async function lockEnds(tx: Tx, context: CallContext, groupId: string, ids: string[]): Promise<Ends> {
  const locked = await lockDevices(tx, context.caller, ids);
  const group = isUuid(groupId) ? await holdDeviceGroup(tx, context.caller, groupId) : null;
  if (!group) throw deviceGroupNotFound();
  const devices = locked.filter((device) => device.org_id === group.org_id);
  const found = new Set(devices.map(({ id }) => id));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) throw deviceNotFound({ deviceIds: missing });
  return { group, devices, ids };
}

/** One event per device that changed, one audit row for all; none when nothing did. */
function recordMembers(
  tx: Tx,
  context: CallContext,
  group: DeviceGroupRow,
  { before, after }: { before: DeviceRow[]; after: DeviceRow[] },
  at: Date,
): void {
  const changed = [...before, ...after];
  if (changed.length === 0) return;
  for (const row of changed) emitDevice(tx, context, "updated", row);
  const idsOf = (rows: DeviceRow[]) => ({ deviceIds: rows.map(({ id }) => id) });
  const details = { changedFields: ["deviceIds"], changes: { before: idsOf(before), after: idsOf(after) } };
  auditDevice(tx, context, { action: "device_group.update", row: group, details, devices: changed }, at);
}
