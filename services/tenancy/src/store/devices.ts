import { type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext, Caller } from "@muster/kit";
import type { DeviceFields, NewDevice } from "../rules/device.ts";
import type { FactColumns } from "../rules/reported-facts.ts";
import { rowsInScope } from "./device-scope.ts";
import { shownSite } from "./site-removals.ts";

export type DeviceRow = FactColumns & {
  id: string;
  org_id: string;
  partner_id: string;
  site_id: string | null;
  updating_component: string | null;
  updating_version: string | null;
  status: string;
  update_state: string | null;
  hardware_id: string | null;
  serial_number: string | null;
  last_seen_at: Date | null;
  last_ip_address: string | null;
  auto_update_enabled: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  labels: Record<string, string>;
  quarantine_reason: string | null;
  reported: Record<string, unknown> | null;
  enrollment_key_id: string | null;
  /** All groups of the device. */
  group_ids: string[];
  /** Those of them that the caller sees. */
  seen_group_ids: string[];
};

/** The columns of a DeviceRow from `devices`, for this caller. */
export function deviceColumns({ siteIds }: Caller): Query {
  const groups = (seen: Query) =>
    sql`ARRAY(SELECT m.group_id FROM device_group_members m WHERE m.device_id = devices.id AND ${seen} ORDER BY m.group_id)`;
  const all = groups(sql`true`);
  const seen = siteIds === null ? all : groups(sql`m.group_id IN (SELECT g.id FROM device_groups g)`);
  return sql`id, org_id, partner_id, ${shownSite} AS site_id, hostname, agent_hostname, os, arch, libc, agent_version, watchdog_version, helper_version,
    announced_facts,
    updating_component, updating_version, update_state, status, hardware_id, serial_number, last_seen_at, host(last_ip_address) AS last_ip_address, auto_update_enabled, version, created_at,
    updated_at, labels, quarantine_reason, reported, enrollment_key_id, ${all} AS group_ids, ${seen} AS seen_group_ids`;
}

/** One device in the caller's scope, or null. */
export async function findDevice(db: Database, who: CallContext, id: string): Promise<DeviceRow | null> {
  const { caller } = who;
  const [row] = await db.read<DeviceRow>(
    who,
    sql`SELECT ${deviceColumns(caller)} FROM devices WHERE id = ${id}::uuid AND ${rowsInScope(caller)}`,
  );
  return row ?? null;
}

/** As findDevice, within a transaction. */
export async function findDeviceById(tx: Tx, caller: Caller, id: string): Promise<DeviceRow | null> {
  const [row] = await tx.query<DeviceRow>(
    sql`SELECT ${deviceColumns(caller)} FROM devices WHERE id = ${id}::uuid AND ${rowsInScope(caller)}`,
  );
  return row ?? null;
}

/** As findDevice, locked until the end of the transaction. */
export async function lockDevice(tx: Tx, caller: Caller, id: string): Promise<DeviceRow | null> {
  const [row] = await lockDevices(tx, caller, [id]);
  return row ?? null;
}

/** Those of the devices in the caller's scope, locked in the order of their ids. */
export async function lockDevices(tx: Tx, caller: Caller, ids: readonly string[]): Promise<DeviceRow[]> {
  return tx.query<DeviceRow>(
    sql`SELECT ${deviceColumns(caller)} FROM devices WHERE id = ANY (${ids}::uuid[]) AND ${rowsInScope(caller)}
        ORDER BY id FOR NO KEY UPDATE`,
  );
}

/**
 * The trusted device of the organization, not decommissioned, with this hardware id in any spelling; null when there is
 * none, and for ids that do not identify a machine (index devices_hardware_identity). Locks the id until the end of the
 * transaction.
 */
export async function findHardwareOwner(tx: Tx, orgId: string, hardwareId: string): Promise<string | null> {
  await tx.execute(sql`
    SELECT pg_advisory_xact_lock(hashtextextended(${`hardware/${orgId}/`} || hardware_identity(${hardwareId}::text), 0))`);
  const [row] = await tx.query<{ id: string }>(
    sql`SELECT id FROM devices WHERE org_id = ${orgId}::uuid AND hardware_identity(hardware_id) = hardware_identity(${hardwareId}::text)
        AND NOT hardware_shared AND status NOT IN ('decommissioned', 'quarantined')`,
  );
  return row?.id ?? null;
}

/** Inserts a device of a locked organization. */
export async function insertDevice(
  tx: Tx,
  caller: Caller,
  device: NewDevice & { partnerId: string; status: string; quarantineReason: string | null; shared: boolean },
  now: Date,
): Promise<DeviceRow> {
  return writtenRow(
    tx,
    sql`
      INSERT INTO devices (id, org_id, partner_id, site_id, hostname, agent_hostname, os, arch, libc, agent_version, watchdog_version, status,
                           hardware_id, serial_number, labels, quarantine_reason, hardware_shared, enrollment_key_id, created_at,
                           updated_at)
      VALUES (${device.id}, ${device.orgId}, ${device.partnerId}, ${device.siteId}, ${device.hostname}, ${device.hostname}, ${device.os},
              ${device.arch}, ${device.libc}, ${device.agentVersion}, ${device.watchdogVersion}, ${device.status}, ${device.hardwareId},
              ${device.serialNumber}, ${JSON.stringify(device.labels)}::jsonb, ${device.quarantineReason}, ${device.shared},
              ${device.enrollmentKeyId}, ${now}, ${now})
      RETURNING ${deviceColumns(caller)}`,
  );
}

/**
 * Lets at most `max` devices no longer name a deleted key (index devices_by_enrollment_key). Returns how many it were.
 * It is no change of the device: who reads it sees the key no more, nobody is notified.
 */
export async function forgetEnrollmentKey(tx: Tx, keyId: string, max: number): Promise<number> {
  return tx.execute(
    sql`UPDATE devices SET enrollment_key_id = NULL
        WHERE id IN (SELECT id FROM devices WHERE enrollment_key_id = ${keyId}::uuid LIMIT ${max} FOR NO KEY UPDATE)`,
  );
}

/** Writes what people may change of a locked device. */
export async function updateDevice(
  tx: Tx,
  caller: Caller,
  id: string,
  fields: DeviceFields,
  now: Date,
): Promise<DeviceRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE devices
      SET site_id = ${fields.siteId}, hostname = ${fields.hostname}, auto_update_enabled = ${fields.autoUpdateEnabled},
          version = version + 1, updated_at = ${now}
      WHERE id = ${id}::uuid RETURNING ${deviceColumns(caller)}`,
  );
}

/** Marks a locked device as decommissioned. */
export async function markDecommissioned(tx: Tx, caller: Caller, id: string, now: Date): Promise<DeviceRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE devices SET status = 'decommissioned', decommissioned_at = ${now}, version = version + 1, updated_at = ${now}
      WHERE id = ${id}::uuid RETURNING ${deviceColumns(caller)}`,
  );
}

/** Trusts a locked quarantined device; `shared` when the hardware id stays another's. */
export async function markApproved(tx: Tx, caller: Caller, id: string, shared: boolean, now: Date): Promise<DeviceRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE devices SET status = 'offline', quarantine_reason = NULL, hardware_shared = ${shared}, version = version + 1,
                         updated_at = ${now}
      WHERE id = ${id}::uuid RETURNING ${deviceColumns(caller)}`,
  );
}

/** What a device takes over of the one that it replaces. */
export type Assignment = DeviceFields & { labels: Record<string, string> };

/** Writes the assignment of a locked device, and makes it a member of the groups of another one. */
export async function copyAssignment(tx: Tx, fromId: string, toId: string, of: Assignment): Promise<void> {
  await tx.execute(sql`
    UPDATE devices
    SET site_id = ${of.siteId}, hostname = ${of.hostname}, auto_update_enabled = ${of.autoUpdateEnabled},
        labels = ${JSON.stringify(of.labels)}::jsonb
    WHERE id = ${toId}::uuid`);
  await tx.execute(sql`
    INSERT INTO device_group_members (group_id, device_id, org_id, partner_id, added_at)
    SELECT group_id, ${toId}::uuid, org_id, partner_id, added_at FROM device_group_members WHERE device_id = ${fromId}::uuid
    ON CONFLICT DO NOTHING`);
}

/** Whether the enrollment of this device was rolled back. */
export async function isDiscarded(tx: Tx, id: string): Promise<boolean> {
  return (await tx.query(sql`SELECT FROM discarded_devices WHERE id = ${id}::uuid`)).length > 0;
}

/** Keeps a device from being made. */
export async function noteDiscarded(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`INSERT INTO discarded_devices (id) VALUES (${id}::uuid) ON CONFLICT DO NOTHING`);
}

/** Serialises the creation and deletion of a device until the end of the transaction. */
export async function lockEnrollment(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`enrollment/${id}`}, 0))`);
}

/** What audit rows show of an enrollment. */
export function enrolledFields(row: DeviceRow): Record<string, unknown> {
  return {
    ...deviceFields(row),
    os: row.os,
    arch: row.arch,
    ...(row.libc === null ? {} : { libc: row.libc }),
    agentVersion: row.agent_version,
    watchdogVersion: row.watchdog_version,
    hardwareId: row.hardware_id,
    serialNumber: row.serial_number,
    labels: row.labels,
    status: row.status,
    ...(row.quarantine_reason ? { quarantineReason: row.quarantine_reason } : {}),
  };
}

/** The fields that changes are decided on and audit rows show. */
export function deviceFields(row: DeviceRow): DeviceFields {
  return { siteId: row.site_id, hostname: row.hostname, autoUpdateEnabled: row.auto_update_enabled };
}

async function writtenRow(tx: Tx, statement: Query): Promise<DeviceRow> {
  const [row] = await tx.query<DeviceRow>(statement);
  if (!row) throw new Error("a device that was locked has gone");
  return row;
}
