import { type Database, type Query, sql } from "@muster/db";
import { AppError, type CallContext, type Page, validationError } from "@muster/kit";
import { readNewestPage } from "./device-page.ts";
import { findOwner, reachedBySite } from "./device-reach.ts";
import { type DeviceRow, deviceColumns } from "./devices.ts";
import type { NamePage } from "./name-page.ts";

/** Empty strings do not narrow. */
export type DeviceFilter = { orgId: string; siteId: string; groupId: string; status: string; search: string };

/** A host name is found by reading those of all devices in reach, so a search has its own, shorter time. */
const searchTimeoutMs = 3_000;

/**
 * A page of the devices that the caller reaches, newest first (indexes devices_by_org, _by_partner, _newest, _by_site,
 * _by_status). Null when the organization of the filter is out of reach. Throws `validation_failed` when a search takes
 * longer than 3 s.
 */
export async function listDevices(
  db: Database,
  { caller, deadlineMs, meta }: CallContext,
  filter: DeviceFilter,
  page: Page,
): Promise<NamePage<DeviceRow> | null> {
  const searchEndsMs = filter.search === "" ? null : performance.now() + searchTimeoutMs;
  const bounded = searchEndsMs !== null && searchEndsMs < (deadlineMs ?? Number.POSITIVE_INFINITY);
  const where = sql`${reachedBySite(caller)} AND ${conditions(filter)}`;
  const list = { table: sql`devices`, columns: deviceColumns(caller), where };
  try {
    return await db.tx(
      { caller, meta, deadlineMs: bounded ? searchEndsMs : deadlineMs },
      async (tx) => {
        const [owner, listed] = await Promise.all([
          filter.orgId === "" || findOwner(tx, caller, filter.orgId, true),
          readNewestPage<DeviceRow>(tx, list, page),
        ]);
        return owner === null ? null : listed;
      },
      { readOnly: true },
    );
  } catch (error) {
    if (!bounded || !(error instanceof AppError) || error.code !== "deadline_exceeded") throw error;
    throw validationError({ search: ["Took too long: narrow it by organization, site or group"] });
  }
}

function conditions({ orgId, siteId, groupId, status, search }: DeviceFilter): Query {
  const parts: Query[] = [];
  if (orgId !== "") parts.push(sql`org_id = ${orgId}::uuid`);
  if (siteId !== "") parts.push(sql`site_id = ${siteId}::uuid`);
  if (status !== "") parts.push(sql`status = ${status}`);
  if (search !== "") parts.push(sql`position(lower(${search}) IN lower(hostname)) > 0`);
  if (groupId !== "") {
    // Through the group, so that one out of the caller's sight shows nothing.
    parts.push(sql`id IN (
      SELECT m.device_id FROM device_group_members m JOIN device_groups g ON g.id = m.group_id WHERE g.id = ${groupId}::uuid
    )`);
  }
  return parts.reduce((all, part) => sql`${all} AND ${part}`, sql`true`);
}
