import { type Database, type Query, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, systemCaller } from "@muster/kit";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";

export type DeviceRow = {
  id: string;
  org_id: string;
  partner_id: string;
  status: string;
  heard_at: Date;
};

const system = { caller: systemCaller("device-logs") };
const columns = sql`id, org_id, partner_id, status, heard_at`;

/**
 * Applies rows newer than the copy's, in a system's transaction; a row of the same version only renews its time of
 * confirmation.
 */
export async function applyDevices(tx: Tx, changes: readonly DeviceChanged[]): Promise<void> {
  const newest = new Map<string, DeviceChanged>();
  for (const change of changes) {
    const previous = newest.get(change.id);
    if (!previous || change.version >= previous.version) newest.set(change.id, change);
  }
  const rows = [...newest.values()];
  if (rows.length === 0) return;
  await tx.execute(sql`
    INSERT INTO device AS d (id, org_id, partner_id, site_id, status, version, heard_at)
    SELECT id, org_id, partner_id, nullif(site_id, '')::uuid, status, version, clock_timestamp()
    FROM unnest(${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.orgId)}::uuid[], ${rows.map((r) => r.partnerId)}::uuid[],
                ${rows.map((r) => r.siteId)}::text[], ${rows.map((r) => r.status)}::text[],
                ${rows.map((r) => r.version.toString())}::bigint[])
         AS g (id, org_id, partner_id, site_id, status, version)
    ORDER BY id
    ON CONFLICT (id) DO UPDATE
    SET site_id = excluded.site_id, status = excluded.status, version = excluded.version, heard_at = excluded.heard_at
    WHERE excluded.version >= d.version`);
}

/** Tenancy's own answer replaces the copy's row, whether older or newer (a restored tenancy). */
export async function replaceDevices(db: Database, devices: readonly DeviceChanged[]): Promise<void> {
  await db.tx(system, async (tx) => {
    await tx.execute(sql`UPDATE device SET version = -1 WHERE id = ANY (${devices.map((d) => d.id)}::uuid[])`);
    await applyDevices(tx, devices);
  });
}

/** One device in the caller's access scope, or null. */
export async function findDevice(db: Database, who: CallContext, id: string): Promise<DeviceRow | null> {
  const [row] = await db.read<DeviceRow>(
    who,
    sql`SELECT ${columns} FROM device WHERE id = ${id}::uuid AND ${inScope(who.caller)}`,
  );
  return row ?? null;
}

/** Whether the copy has the device, for any caller. */
export async function isCached(db: Database, id: string): Promise<boolean> {
  return (await db.read(system, sql`SELECT FROM device WHERE id = ${id}::uuid`)).length > 0;
}

/**
 * The query's own predicate, besides the policies. Deleted organizations' devices are visible to system callers only.
 * Nobody sees a device through a deleted site, whose devices tenancy removes from it without an event for each.
 */
function inScope({ scope, partnerId, orgId, orgAccess, siteIds }: Caller): Query {
  if (scope === "system") return sql`true`;
  const own = (): Query => {
    if (scope === "organization") return sql`org_id = ${orgId}::uuid`;
    if (orgAccess.mode === "all") return sql`partner_id = ${partnerId}::uuid`;
    return sql`partner_id = ${partnerId}::uuid AND org_id = ANY (${orgAccess.orgIds}::uuid[])`;
  };
  const active = sql`org_id NOT IN (SELECT t.id FROM tenant t WHERE t.kind = 'organization' AND t.id = org_id AND t.deleted)`;
  const all = sql`${own()} AND ${active}`;
  if (siteIds === null) return all;
  const activeSites = sql`site_id NOT IN (SELECT t.id FROM tenant t WHERE t.kind = 'site' AND t.id = site_id AND t.deleted)`;
  return sql`${all} AND site_id = ANY (${siteIds}::uuid[]) AND ${activeSites}`;
}
