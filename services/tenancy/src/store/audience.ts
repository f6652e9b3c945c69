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

/** Counts devices by agent version and audiences in one pass; those of none and decommissioned ones are left out. */
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
        FROM devices WHERE status <> 'decommissioned' AND ${ownedBy(partnerId, sql`partner_id`)} GROUP BY 1, 2`,
  );
  return rows.filter(({ audiences: of }) => of.length > 0);
}

function isIn({ partnerIds, orgIds, siteIds, groupIds, labels, os, arch }: Audience): Query {
  const isOfAll = partnerIds.length + orgIds.length + siteIds.length + groupIds.length === 0;
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
  const of = (field: "partnerIds" | "orgIds" | "siteIds" | "groupIds") => audiences.flatMap((each) => each[field]);
  const owned = ownedBy(partnerId, sql`partner_id`);
  const rows = await db.read<{ id: string }>(
    who,
    sql`SELECT id FROM unnest(${of("partnerIds")}::uuid[]) AS id
        WHERE id NOT IN (SELECT id FROM partners WHERE deleted_at IS NULL AND ${ownedBy(partnerId, sql`partners.id`)})
        UNION ALL
        SELECT id FROM unnest(${of("orgIds")}::uuid[]) AS id
        WHERE id NOT IN (SELECT id FROM organizations WHERE deleted_at IS NULL AND ${owned})
        UNION ALL
        SELECT id FROM unnest(${of("siteIds")}::uuid[]) AS id WHERE id NOT IN (SELECT id FROM sites WHERE ${owned})
        UNION ALL
        SELECT id FROM unnest(${of("groupIds")}::uuid[]) AS id WHERE id NOT IN (SELECT id FROM device_groups WHERE ${owned})`,
  );
  return rows.map(({ id }) => id);
}

const ownedBy = (partnerId: string | null, column: Query): Query =>
  partnerId === null ? sql`true` : sql`${column} = ${partnerId}::uuid`;
