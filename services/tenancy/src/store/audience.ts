import { type Database, type Query, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";

/** Devices of any of these owners, or of all, that have all the labels, and one of the systems and architectures. */
export type Audience = {
  partnerIds: readonly string[];
  orgIds: readonly string[];
  siteIds: readonly string[];
  groupIds: readonly string[];
  labels: Readonly<Record<string, string>>;
  os: readonly string[];
  arch: readonly string[];
};

/** Devices of one agent version that are in exactly these audiences, named by their positions. */
export type AudienceGroup = { agentVersion: string; audiences: number[]; devices: number };

/** Whose devices count: all, or one partner's. */
export type AudienceOwner = { partnerId: string | null };

/**
 * Counts devices by agent version and audiences in one pass; those of none and decommissioned ones are left out. All
 * devices of the owner are read only for an audience that names no partner, organization, site or group.
 */
export async function countInAudiences(
  db: Database,
  who: CallContext,
  audiences: readonly Audience[],
  { partnerId }: AudienceOwner,
): Promise<AudienceGroup[]> {
  const positions = audiences.map((audience, at) => sql`CASE WHEN ${isIn(audience)} THEN ${at}::int END`);
  const rows = await db.read<AudienceGroup>(
    who,
    sql`SELECT agent_version AS "agentVersion", array_remove(ARRAY[${joined(positions)}], NULL) AS audiences,
               count(*)::int AS devices
        FROM devices
        WHERE status <> 'decommissioned' AND ${ownedBy(partnerId, sql`partner_id`)} AND ${inAny(audiences)}
        GROUP BY 1, 2`,
  );
  return rows.filter(({ audiences: of }) => of.length > 0);
}

const owners = ["partnerIds", "orgIds", "siteIds", "groupIds"] as const;
const isOfAllOwners = (audience: Audience) => owners.every((each) => audience[each].length === 0);

/** Devices of the owners that audiences name: by an index each (devices_by_partner, by_org, by_site, primary key). */
function inAny(audiences: readonly Audience[]): Query {
  if (audiences.some(isOfAllOwners)) return sql`true`;
  const of = (field: (typeof owners)[number]) => audiences.flatMap((each) => each[field]);
  return sql`(partner_id = ANY (${of("partnerIds")}::uuid[]) OR org_id = ANY (${of("orgIds")}::uuid[])
    OR site_id = ANY (${of("siteIds")}::uuid[])
    OR id = ANY (ARRAY(SELECT device_id FROM device_group_members WHERE group_id = ANY (${of("groupIds")}::uuid[]))))`;
}

function isIn(audience: Audience): Query {
  const { partnerIds, orgIds, siteIds, groupIds, labels, os, arch } = audience;
  const isOfAll = isOfAllOwners(audience);
  return sql`(${isOfAll}::boolean OR partner_id = ANY (${[...partnerIds]}::uuid[]) OR org_id = ANY (${[...orgIds]}::uuid[])
      OR site_id = ANY (${[...siteIds]}::uuid[])
      OR id IN (SELECT device_id FROM device_group_members WHERE group_id = ANY (${[...groupIds]}::uuid[])))
    AND labels @> ${JSON.stringify(labels)}::jsonb
    AND (${os.length === 0}::boolean OR os = ANY (${[...os]}::text[]))
    AND (${arch.length === 0}::boolean OR arch = ANY (${[...arch]}::text[]))`;
}

const joined = (queries: readonly Query[]): Query => queries.reduce((all, each) => sql`${all}, ${each}`);

/** The ids that name no partner, organization, site or group of the owner, or one that was deleted. */
export async function unknownIds(
  db: Database,
  who: CallContext,
  audiences: readonly Audience[],
  { partnerId }: AudienceOwner,
): Promise<string[]> {
  const missing = (field: (typeof owners)[number], table: Query, owned: Query) => sql`
    SELECT named.id FROM unnest(${audiences.flatMap((each) => each[field])}::uuid[]) AS named (id)
    WHERE NOT EXISTS (SELECT FROM ${table} AS t WHERE t.id = named.id AND ${owned})`;
  const owned = ownedBy(partnerId, sql`t.partner_id`);
  const rows = await db.read<{ id: string }>(
    who,
    sql`${missing("partnerIds", sql`partners`, sql`t.deleted_at IS NULL AND ${ownedBy(partnerId, sql`t.id`)}`)}
        UNION ALL ${missing("orgIds", sql`organizations`, sql`t.deleted_at IS NULL AND ${owned}`)}
        UNION ALL ${missing("siteIds", sql`sites`, owned)}
        UNION ALL ${missing("groupIds", sql`device_groups`, owned)}`,
  );
  return rows.map(({ id }) => id);
}

const ownedBy = (partnerId: string | null, column: Query): Query =>
  partnerId === null ? sql`true` : sql`${column} = ${partnerId}::uuid`;
