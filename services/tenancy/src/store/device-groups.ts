import { type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext, Caller, Page } from "@muster/kit";
import type { DeviceGroupFields } from "../rules/device-group.ts";
import { readNewestPage } from "./device-page.ts";
import { findOwner, ownBySite, rowsInScope } from "./device-scope.ts";
import { containing, type NamePage } from "./name-page.ts";

export type DeviceGroupRow = {
  id: string;
  org_id: string;
  partner_id: string;
  site_id: string | null;
  name: string;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`id, org_id, partner_id, site_id, name, version, created_at, updated_at`;

/** Inserts a group of an organization that was just found. */
export async function insertDeviceGroup(
  tx: Tx,
  ids: { id: string; orgId: string; partnerId: string },
  group: DeviceGroupFields,
  now: Date,
): Promise<DeviceGroupRow> {
  return writtenRow(
    tx,
    sql`
      INSERT INTO device_groups (id, org_id, partner_id, site_id, name, created_at, updated_at)
      VALUES (${ids.id}, ${ids.orgId}, ${ids.partnerId}, ${group.siteId}, ${group.name}, ${now}, ${now})
      RETURNING ${columns}`,
  );
}

/** One group in the caller's scope, or null. */
export async function findDeviceGroup(db: Database, who: CallContext, id: string): Promise<DeviceGroupRow | null> {
  const [row] = await db.read<DeviceGroupRow>(
    who,
    sql`SELECT ${columns} FROM device_groups WHERE id = ${id}::uuid AND ${rowsInScope(who.caller)}`,
  );
  return row ?? null;
}

/** As findDeviceGroup, locked until the end of the transaction. */
export async function lockDeviceGroup(tx: Tx, caller: Caller, id: string): Promise<DeviceGroupRow | null> {
  const [row] = await tx.query<DeviceGroupRow>(
    sql`SELECT ${columns} FROM device_groups WHERE id = ${id}::uuid AND ${rowsInScope(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/**
 * As findDeviceGroup; locks the group against changes and deletion until the end of the transaction, but not its
 * members.
 */
export async function holdDeviceGroup(tx: Tx, caller: Caller, id: string): Promise<DeviceGroupRow | null> {
  const [row] = await tx.query<DeviceGroupRow>(
    sql`SELECT ${columns} FROM device_groups WHERE id = ${id}::uuid AND ${rowsInScope(caller)} FOR SHARE`,
  );
  return row ?? null;
}

/** Writes all fields of a locked group. */
export async function updateDeviceGroup(
  tx: Tx,
  id: string,
  group: DeviceGroupFields,
  now: Date,
): Promise<DeviceGroupRow> {
  return writtenRow(
    tx,
    sql`
      UPDATE device_groups SET name = ${group.name}, site_id = ${group.siteId}, version = version + 1, updated_at = ${now}
      WHERE id = ${id}::uuid RETURNING ${columns}`,
  );
}

/** Removes a locked group with its memberships. */
export async function deleteDeviceGroup(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM device_groups WHERE id = ${id}::uuid`);
}

/**
 * A page of the groups in the caller's scope, newest first (indexes device_groups_by_org, _by_partner, _newest,
 * _by_site). Null when the organization of the filter is out of scope. Empty filters do not narrow.
 */
export async function listDeviceGroups(
  db: Database,
  who: CallContext,
  filter: { orgId: string; siteId: string; search: string },
  page: Page,
): Promise<NamePage<DeviceGroupRow> | null> {
  const { caller } = who;
  const ofOrganization = filter.orgId === "" ? sql`true` : sql`org_id = ${filter.orgId}::uuid`;
  const ofSite = filter.siteId === "" ? sql`true` : sql`site_id = ${filter.siteId}::uuid`;
  const named = containing(filter.search, sql`name`);
  const condition = sql`${ofOrganization} AND ${ofSite} AND ${named}`;
  const list = {
    tableName: "device_groups",
    table: sql`device_groups`,
    columns,
    where: sql`${rowsInScope(caller)} AND ${condition}`,
    estimateBy: sql`${ownBySite(caller)} AND ${condition}`,
  } as const;
  const read = async (tx: Tx) => {
    const [owner, listed] = await Promise.all([
      filter.orgId === "" || findOwner(tx, caller, filter.orgId, true),
      readNewestPage<DeviceGroupRow>(tx, list, page),
    ]);
    return owner === null ? null : listed;
  };
  return db.tx(who, read, { readOnly: true });
}

/** The fields that changes are decided on and audit rows show. */
export function deviceGroupFields(row: DeviceGroupRow): DeviceGroupFields {
  return { name: row.name, siteId: row.site_id };
}

async function writtenRow(tx: Tx, statement: Query): Promise<DeviceGroupRow> {
  const [row] = await tx.query<DeviceGroupRow>(statement);
  if (!row) throw new Error("a device group that was locked has gone");
  return row;
}
