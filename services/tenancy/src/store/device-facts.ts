import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";

/** What a device's events say of it (`DeviceChanged`). */
export type DeviceFacts = {
  id: string;
  version: number;
  partnerId: string;
  orgId: string;
  siteId: string;
  status: string;
  groupIds: string[];
};

/** Those of the ids that there are, decommissioned ones included. */
export function devicesById(db: Database, who: CallContext, ids: readonly string[]): Promise<DeviceFacts[]> {
  return db.read<DeviceFacts>(
    who,
    sql`SELECT id, version, partner_id AS "partnerId", org_id AS "orgId", coalesce(site_id::text, '') AS "siteId", status,
               ARRAY(SELECT m.group_id FROM device_group_members m WHERE m.device_id = d.id ORDER BY m.group_id)::text[] AS "groupIds"
        FROM devices d WHERE id = ANY (${ids}::uuid[])`,
  );
}
