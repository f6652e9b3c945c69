import { type Database, type Query, sql, type Tx } from "@muster/db";
import { anyOf, conditions, nonEmpty, type Rows, since } from "@muster/db/builder";
import type { CallContext, Caller, Page } from "@muster/kit";
import { deviceStatuses } from "../rules/device.ts";
import { versionsIn } from "../rules/version-range.ts";
import { findGroupMembers, type GroupMembers, walkMembers } from "./device-group-filter.ts";
import {
  type Counted,
  countUpToMany,
  forceCustomPlans,
  inIndexOrder,
  type Order,
  readNewestPage,
} from "./device-page.ts";
import { findOwner, ownBySite, rowsInScope } from "./device-scope.ts";
import { type DeviceRow, deviceColumns } from "./devices.ts";
import { containing, type NamePage } from "./name-page.ts";
import { withinSearchTime } from "./search-time.ts";

/** Empty texts and lists, and null, do not filter. */
export type DeviceFilter = DeviceOwners & {
  statuses: readonly string[];
  os: string;
  arch: string;
  agentVersion: string;
  /** In node-semver's grammar. */
  agentVersionRange: string;
  updateState: string;
  hardwareId: string;
  serialNumber: string;
  /** An address or a network. */
  address: string;
  /** A label's name, and its value unless any will do. */
  label: { name: string; value: string | null } | null;
  seenAfter: Date | null;
  seenBefore: Date | null;
  search: string;
  enrollmentKeyId: string;
  /** Newest first when null. */
  sort: DeviceSort | null;
};

export const deviceSorts = ["hostname", "-hostname", "last_seen", "-last_seen"] as const;
export type DeviceSort = (typeof deviceSorts)[number];

export type DeviceOwners = { orgId: string; siteId: string; groupId: string };

/** Filters that look at each device in scope, and so do orders: an index of what heartbeats write would slow those. */
const searched = [
  "search",
  "label",
  "arch",
  "agentVersion",
  "agentVersionRange",
  "updateState",
  "hardwareId",
  "serialNumber",
  "address",
  "seenAfter",
  "seenBefore",
  "sort",
] as const;

/**
 * A page of the devices in the caller's scope, newest first unless sorted (indexes devices_by_org, _by_partner,
 * _newest, _by_site, _by_status, _by_update_state, _by_update_state_of_partner, _by_enrollment_key). Null when the
 * organization of the filter is out of scope. Throws `validation_failed` when a search takes longer than 3 s.
 */
export async function listDevices(
  db: Database,
  who: CallContext,
  filter: DeviceFilter,
  page: Page,
): Promise<NamePage<DeviceRow> | null> {
  const { caller } = who;
  const [slow] = searched.filter((name) => filter[name] !== "" && filter[name] !== null);
  const order = filter.sort === null ? {} : { order: orderOf(filter.sort) };
  const read = (within: CallContext) =>
    db.tx(
      within,
      async (tx) => {
        const members = filter.groupId === "" ? null : await findGroupMembers(tx, filter.groupId);
        const versions = await versionsOf(tx, caller, filter, members);
        const list = {
          ...counted(caller, conditionsOf(filter, members, versions)),
          columns: deviceColumns(caller),
          ...order,
        };
        const [, , owner, listed] = await Promise.all([
          isInOrder(caller, filter) ? inIndexOrder(tx) : forceCustomPlans(tx),
          members?.isLarge && filter.sort === null && walkMembers(tx),
          filter.orgId === "" || findOwner(tx, caller, filter.orgId, true),
          readNewestPage<DeviceRow>(tx, list, page),
        ]);
        return owner === null ? null : listed;
      },
      { readOnly: true },
    );
  return slow === undefined ? read(who) : withinSearchTime(who, slow, read);
}

/** Update states that indexes hold beside the order: what most devices are, current, is not among them. */
const indexedStates: readonly string[] = ["behind", "ahead", "failed"];
/** Filters that few devices may meet: they are not sought along an index of all. */
const rare = [
  "groupId",
  "enrollmentKeyId",
  "agentVersion",
  "agentVersionRange",
  "hardwareId",
  "serialNumber",
  "address",
] as const;

/**
 * Whether one of the indexes has the devices in the order of the list: those of an organization, a site, a partner or
 * of all, those of one status of an organization, and those of one update state of an organization or a partner. Other
 * filters look at each device on the way.
 */
export function isInOrder(caller: Caller, filter: DeviceFilter): boolean {
  const { statuses, sort, label, seenAfter, seenBefore, updateState } = filter;
  const isOfOne = caller.scope === "organization" || filter.orgId !== "";
  const isOfAll = caller.scope === "system" || caller.orgAccess.mode === "all";
  const isRare =
    rare.some((name) => filter[name] !== "") || label !== null || seenAfter !== null || seenBefore !== null;
  const isWhole = caller.siteIds === null && (isOfOne || isOfAll || filter.siteId !== "");
  // What leaves out decommissioned devices alone leaves out few.
  const isFleet = deviceStatuses.every((status) => status === "decommissioned" || statuses.includes(status));
  if (!isWhole || sort !== null || isRare) return false;
  if (updateState === "") return isFleet || statuses.length <= (isOfOne ? 1 : 0);
  const isIndexed = indexedStates.includes(updateState) && filter.siteId === "" && caller.scope !== "system";
  return isIndexed && (isFleet || statuses.length === 0);
}

/** Whether an index has all devices of these owners by status. */
const isWholeOrganization = ({ scope, siteIds }: Caller, { orgId, siteId, groupId }: DeviceOwners) =>
  (scope === "organization" || orgId !== "") && siteIds === null && siteId === "" && groupId === "";

/**
 * How many devices of these owners have each status, those above 50,000 estimated. Null when the organization is out of
 * scope.
 */
export async function countByStatus(
  db: Database,
  context: CallContext,
  owners: DeviceOwners,
): Promise<{ status: string; count: number; isEstimate: boolean }[] | null> {
  const { caller } = context;
  return db.tx(
    context,
    async (tx) => {
      const members = owners.groupId === "" ? null : await findGroupMembers(tx, owners.groupId);
      if (members?.isLarge) await walkMembers(tx);
      else await (isWholeOrganization(caller, owners) ? inIndexOrder(tx) : forceCustomPlans(tx));
      const ofOwners = ownerConditions(owners, members).reduce(and, sql`true`);
      if (owners.orgId !== "" && (await findOwner(tx, caller, owners.orgId, true)) === null) return null;
      const counts = [];
      for (const status of deviceStatuses) {
        counts.push({ status, ...(await countUpToMany(tx, counted(caller, sql`${ofOwners} AND status = ${status}`))) });
      }
      return counts;
    },
    { readOnly: true },
  );
}

/** The devices in scope that meet a condition. */
const counted = (caller: Caller, condition: Query): Counted => ({
  tableName: "devices",
  table: sql`devices`,
  where: sql`${rowsInScope(caller)} AND ${condition}`,
  estimateBy: sql`${ownBySite(caller)} AND ${condition}`,
});

/** Host names whatever their case; a device that was never seen is ordered by its enrollment. */
function orderOf(sort: DeviceSort): Order {
  const shared = { name: sort, isDescending: sort.startsWith("-") };
  return sort.endsWith("hostname")
    ? { ...shared, key: sql`lower(hostname) COLLATE "C"`, holds: "text" }
    : { ...shared, key: sql`coalesce(last_seen_at, created_at)`, holds: "time" };
}

const and = (all: Query, part: Query): Query => sql`${all} AND ${part}`;

/** Ids of the devices in scope of these owners, decommissioned ones included, at most `most`. */
export async function devicesOfOwners(tx: Tx, caller: Caller, owners: DeviceOwners, most: number): Promise<string[]> {
  const members = owners.groupId === "" ? null : await findGroupMembers(tx, owners.groupId);
  const where = ownerConditions(owners, members).reduce(and, rowsInScope(caller));
  const rows = await tx.query<{ id: string }>(sql`SELECT id FROM devices WHERE ${where} LIMIT ${most}`);
  return rows.map(({ id }) => id);
}

/** Ids of the devices in scope that a filter chooses, in the order of their ids, at most `most`. */
export async function devicesOfFilter(tx: Tx, caller: Caller, filter: DeviceFilter, most: number): Promise<string[]> {
  const members = filter.groupId === "" ? null : await findGroupMembers(tx, filter.groupId);
  const versions = await versionsOf(tx, caller, filter, members);
  const where = sql`${rowsInScope(caller)} AND ${conditionsOf(filter, members, versions)}`;
  const rows = await tx.query<{ id: string }>(sql`SELECT id FROM devices WHERE ${where} ORDER BY id LIMIT ${most}`);
  return rows.map(({ id }) => id);
}

/** The versions of the devices in scope that are in the range of the filter; null without one. */
async function versionsOf(
  tx: Tx,
  caller: Caller,
  { agentVersionRange, ...filter }: DeviceFilter,
  members: GroupMembers | null,
): Promise<string[] | null> {
  if (agentVersionRange === "") return null;
  const ofOwners = ownerConditions(filter, members).reduce(and, rowsInScope(caller));
  const rows = await tx.query<{ version: string }>(
    sql`SELECT DISTINCT agent_version AS version FROM devices WHERE ${ofOwners}`,
  );
  return versionsIn(
    agentVersionRange,
    rows.map(({ version }) => version),
  );
}

function conditionsOf(
  { statuses, os, arch, agentVersion, label, seenAfter, seenBefore, search, enrollmentKeyId, ...others }: DeviceFilter,
  members: GroupMembers | null,
  versions: readonly string[] | null,
) {
  const { updateState, hardwareId, serialNumber, address } = others;
  const own = conditions((rows) =>
    rows
      .where(nonEmpty({ os, arch, agent_version: agentVersion, update_state: updateState }))
      .where(nonEmpty({ enrollment_key_id: enrollmentKeyId }))
      .modify(anyOf, "status", statuses)
      .modify(sameText, "hardware_id", hardwareId)
      .modify(sameText, "serial_number", serialNumber)
      .modify(since, "last_seen_at", seenAfter),
  );
  const parts = [...ownerConditions(others, members), own];
  if (versions) parts.push(sql`agent_version = ANY (${[...versions]}::text[])`);
  if (address !== "") parts.push(sql`last_ip_address <<= ${address}::inet`);
  if (label) {
    const { name, value } = label;
    parts.push(value === null ? sql`labels ? ${name}::text` : sql`labels ->> ${name}::text = ${value}`);
  }
  // A device that was never seen was not seen since, either.
  if (seenBefore) parts.push(sql`coalesce(last_seen_at, created_at) < ${seenBefore}::timestamptz`);
  if (search !== "") parts.push(searchCondition(search));
  return parts.reduce(and, sql`true`);
}

/** For `modify`: the column holds this text, whatever its case; an empty one does not filter. */
function sameText(rows: Rows, column: string, text: string): void {
  if (text !== "") rows.whereRaw("lower(??) = lower(?)", [column, text]);
}

/** Devices of which host name, serial number, address or organization contains a text, ignoring case. */
function searchCondition(text: string): Query {
  const organizations = sql`SELECT o.id FROM organizations o WHERE ${containing(text, sql`o.name`)}`;
  const own = containing(
    text,
    sql`hostname`,
    sql`coalesce(serial_number, '')`,
    sql`coalesce(host(last_ip_address), '')`,
  );
  return sql`(${own} OR org_id = ANY (ARRAY(${organizations})))`;
}

function ownerConditions({ orgId, siteId }: DeviceOwners, members: GroupMembers | null): Query[] {
  const ofOwners = conditions((rows) => rows.where(nonEmpty({ org_id: orgId, site_id: siteId })));
  return members ? [ofOwners, members.condition] : [ofOwners];
}
