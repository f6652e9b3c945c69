import { type Query, sql, type Tx } from "@muster/db";
import { inIndexOrder } from "./device-page.ts";

/** The members of a group, as a condition of rows of `devices`. */
export type GroupMembers = { condition: Query; isLarge: boolean };

/** Members of a group that are looked up one by one. */
const lookedUp = 5_000;

/**
 * The members of a group; none when the group is not visible to the caller. The planner assumes that hardly any row
 * meets the policies, and would read all devices in scope, whatever the size of the group. So a small group is read
 * from its members (indexes device_group_members_pkey, devices_pkey), a large one from the devices of its organization.
 */
export async function findGroupMembers(tx: Tx, groupId: string): Promise<GroupMembers> {
  const [group] = await tx.query<{ org_id: string; members: number }>(sql`
    SELECT g.org_id, (SELECT count(*)::int FROM (
      SELECT FROM device_group_members m WHERE m.group_id = g.id LIMIT ${lookedUp + 1}) AS first) AS members
    FROM device_groups g WHERE g.id = ${groupId}::uuid`);
  if (!group) return { condition: sql`false`, isLarge: false };
  if (group.members <= lookedUp) {
    const ids = sql`SELECT m.device_id FROM device_group_members m WHERE m.group_id = ${groupId}::uuid`;
    return { condition: sql`id = ANY (ARRAY(${ids}))`, isLarge: false };
  }
  const isMember = sql`EXISTS (
    SELECT FROM device_group_members m WHERE m.group_id = ${groupId}::uuid AND m.device_id = devices.id)`;
  return { condition: sql`org_id = ${group.org_id}::uuid AND ${isMember}`, isLarge: true };
}

/**
 * For this transaction the devices of an organization are read in the order of an index, and each is looked up in a
 * large group, until the page is full (indexes devices_by_org, devices_by_status, device_group_members_by_device).
 */
export async function walkMembers(tx: Tx): Promise<void> {
  await Promise.all([
    inIndexOrder(tx),
    tx.execute(sql`SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`),
  ]);
}
