import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { shownSite } from "./site-removals.ts";

/** The fields of a device's events (`DeviceChanged`), and those that update decisions need. */
export type DeviceFacts = {
  id: string;
  version: number;
  partnerId: string;
  orgId: string;
  siteId: string;
  status: string;
  groupIds: string[];
  hostname: string;
  os: string;
  arch: string;
  libc: string;
  agentVersion: string;
  watchdogVersion: string;
  helperVersion: string;
  autoUpdateEnabled: boolean;
  labels: Record<string, string>;
  updateState: string;
};

const columns = sql`id, version, partner_id AS "partnerId", org_id AS "orgId", coalesce((${shownSite})::text, '') AS "siteId", status,
  hostname, ARRAY(SELECT m.group_id FROM device_group_members m WHERE m.device_id = devices.id ORDER BY m.group_id)::text[] AS "groupIds",
  os, arch, coalesce(libc, '') AS libc, agent_version AS "agentVersion", coalesce(watchdog_version, '') AS "watchdogVersion",
  coalesce(helper_version, '') AS "helperVersion", auto_update_enabled AS "autoUpdateEnabled", labels, coalesce(update_state, '') AS "updateState"`;

/** The existing devices with these ids, decommissioned ones included. */
export function devicesById(db: Database, who: CallContext, ids: readonly string[]): Promise<DeviceFacts[]> {
  return db.read<DeviceFacts>(who, sql`SELECT ${columns} FROM devices WHERE id = ANY (${ids}::uuid[])`);
}

/** Reads the devices within a transaction, by primary key. */
export function factsOf(tx: Tx, ids: readonly string[]): Promise<DeviceFacts[]> {
  return tx.query<DeviceFacts>(sql`SELECT ${columns} FROM devices WHERE id = ANY (${[...ids]}::uuid[])`);
}
