import { type Database, type Query, sql } from "@muster/db";
import type { CallContext, Caller } from "@muster/kit";
import { organizationsInScope, sitesInScope } from "./access-scope.ts";
import { rowsInScope } from "./device-scope.ts";
import { organizationNotDeleted } from "./sites.ts";

export type NameRow = { id: string; kind: string; name: string; partner_id: string; org_id: string | null };

/** Which kinds of records are looked at. */
export type NamedKinds = { tenants: boolean; devices: boolean };

/** Names of those of the ids in the caller's scope, each found by its primary key. */
export async function findNames(
  db: Database,
  who: CallContext,
  ids: readonly string[],
  { tenants, devices }: NamedKinds,
): Promise<NameRow[]> {
  const { caller } = who;
  const wanted = sql`id = ANY (${[...ids]}::uuid[])`;
  const parts: Query[] = [];
  if (tenants) {
    parts.push(
      sql`SELECT id, 'partner' AS kind, name, id AS partner_id, NULL::uuid AS org_id FROM partners
          WHERE ${wanted} AND deleted_at IS NULL AND ${ownPartner(caller)}`,
      sql`SELECT id, 'organization', name, partner_id, id FROM organizations
          WHERE ${wanted} AND deleted_at IS NULL AND ${organizationsInScope(caller)}`,
      sql`SELECT id, 'site', name, partner_id, org_id FROM sites
          WHERE ${wanted} AND ${sitesInScope(caller)} AND ${organizationNotDeleted(caller)}`,
    );
  }
  if (devices) {
    parts.push(
      sql`SELECT id, 'device', hostname AS name, partner_id, org_id FROM devices
          WHERE ${wanted} AND ${rowsInScope(caller)}`,
      sql`SELECT id, 'device_group', name, partner_id, org_id FROM device_groups
          WHERE ${wanted} AND ${rowsInScope(caller)}`,
    );
  }
  const [first, ...others] = parts;
  if (first === undefined) return [];
  return db.read<NameRow>(
    who,
    others.reduce((all, part) => sql`${all} UNION ALL ${part}`, first),
  );
}

/** Partners are known to the platform and to their own users. */
function ownPartner({ scope, partnerId }: Caller): Query {
  if (scope === "system") return sql`true`;
  return scope === "partner" ? sql`id = ${partnerId}::uuid` : sql`false`;
}
