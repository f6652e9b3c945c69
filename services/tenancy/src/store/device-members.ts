import { sql, type Tx } from "@muster/db";
import type { Caller } from "@muster/kit";
import type { DeviceGroupRow } from "./device-groups.ts";
import { type DeviceRow, deviceColumns } from "./devices.ts";

/** Puts locked devices of the group's organization into it; those that were not in before, as they are now. */
export async function addMembers(
  tx: Tx,
  caller: Caller,
  group: DeviceGroupRow,
  deviceIds: readonly string[],
  now: Date,
): Promise<DeviceRow[]> {
  const added = await tx.query<{ device_id: string }>(sql`
    INSERT INTO device_group_members (group_id, device_id, org_id, partner_id, added_at)
    SELECT ${group.id}::uuid, id, ${group.org_id}::uuid, ${group.partner_id}::uuid, ${now}::timestamptz
    FROM unnest(${deviceIds}::uuid[]) AS id
    ON CONFLICT (group_id, device_id) DO NOTHING
    RETURNING device_id`);
  return touchDevices(tx, caller, added, now);
}

/** Removes locked devices from a group; returns those that were members, in their new state. */
export async function removeMembers(
  tx: Tx,
  caller: Caller,
  group: DeviceGroupRow,
  deviceIds: readonly string[],
  now: Date,
): Promise<DeviceRow[]> {
  const removed = await tx.query<{ device_id: string }>(sql`
    DELETE FROM device_group_members WHERE group_id = ${group.id}::uuid AND device_id = ANY (${deviceIds}::uuid[])
    RETURNING device_id`);
  return touchDevices(tx, caller, removed, now);
}

/** A device's groups are part of it: its version follows. */
async function touchDevices(
  tx: Tx,
  caller: Caller,
  changed: readonly { device_id: string }[],
  now: Date,
): Promise<DeviceRow[]> {
  if (changed.length === 0) return [];
  const ids = changed.map(({ device_id }) => device_id);
  return tx.query<DeviceRow>(sql`
    UPDATE devices SET version = version + 1, updated_at = ${now}
    WHERE id = ANY (${ids}::uuid[]) RETURNING ${deviceColumns(caller)}`);
}
