import { sql, type Tx } from "@muster/db";
import type { TenantChanged } from "@muster/proto/muster/events/v1/tenancy_pb";

export const tenantKinds = ["partner", "organization", "site"] as const;
export type TenantKind = (typeof tenantKinds)[number];

/** A row of the copy that has changed. `before` is null for one that was not known. */
export type TenantChange = {
  kind: TenantKind;
  id: string;
  partnerId: string;
  orgId: string | null;
  version: number;
  status: string;
  deleted: boolean;
  before: { status: string; deleted: boolean } | null;
};

type ChangeRow = Omit<TenantChange, "before"> & { status_before: string | null; deleted_before: boolean | null };

/**
 * Takes what is newer than the copy's own, in a system's transaction, so that repeats and any order end in the same
 * state. With `asOf` (a time of the database's clock, as text) also takes the version of a row that the copy has not
 * received since then, newer or not (a restored tenancy). Returns the rows whose status or deletion is new.
 */
export async function applyTenants(
  tx: Tx,
  received: readonly TenantChanged[],
  asOf: string | null = null,
): Promise<TenantChange[]> {
  const newest = new Map<string, TenantChanged>();
  for (const change of received) {
    const key = `${change.kind}/${change.id}`;
    const latest = newest.get(key);
    if (!latest || change.version > latest.version) newest.set(key, change);
  }
  const rows = [...newest.values()];
  if (rows.length === 0) return [];
  const applied = await tx.query<ChangeRow>(sql`
    INSERT INTO tenant AS t (kind, id, partner_id, org_id, version, status, deleted, updated_at)
    SELECT kind, id, partner_id, nullif(org_id, '')::uuid, version, status, deleted, clock_timestamp()
    FROM unnest(${rows.map((r) => r.kind)}::text[], ${rows.map((r) => r.id)}::uuid[],
                ${rows.map((r) => r.partnerId)}::uuid[], ${rows.map((r) => r.orgId)}::text[],
                ${rows.map((r) => r.version.toString())}::bigint[], ${rows.map((r) => r.status)}::text[],
                ${rows.map((r) => r.deleted)}::boolean[])
         AS g (kind, id, partner_id, org_id, version, status, deleted)
    -- One order for all: two processes that take the same rows never wait for each other in a circle.
    ORDER BY kind, id
    ON CONFLICT (kind, id) DO UPDATE
    SET version = excluded.version, status = excluded.status, deleted = excluded.deleted,
        updated_at = excluded.updated_at
    WHERE excluded.version > t.version OR t.updated_at < ${asOf}::timestamptz
    RETURNING t.kind, t.id, t.partner_id AS "partnerId", t.org_id AS "orgId", t.version, t.status, t.deleted,
              -- The statement's own snapshot: what stood there before it.
              (SELECT b.status FROM tenant b WHERE b.kind = t.kind AND b.id = t.id) AS status_before,
              (SELECT b.deleted FROM tenant b WHERE b.kind = t.kind AND b.id = t.id) AS deleted_before`);
  return applied.flatMap(({ status_before, deleted_before, ...row }) => {
    const before = status_before === null ? null : { status: status_before, deleted: deleted_before ?? false };
    return before?.status === row.status && before.deleted === row.deleted ? [] : [{ ...row, before }];
  });
}

/**
 * Rows without an update since `asOf` although the whole snapshot was read: sites are marked as deleted, the rest
 * (tenancy itself was restored to an earlier time) is removed. Returns those that were not deleted before.
 */
export async function dropUnheard(tx: Tx, asOf: string): Promise<TenantChange[]> {
  const columns = sql`kind, id, partner_id AS "partnerId", org_id AS "orgId", version, status`;
  const sites = await tx.query<ChangeRow>(sql`
    UPDATE tenant SET deleted = true, updated_at = clock_timestamp()
    WHERE kind = 'site' AND NOT deleted AND updated_at < ${asOf}::timestamptz
    RETURNING ${columns}, false AS deleted`);
  const others = await tx.query<ChangeRow>(sql`
    DELETE FROM tenant WHERE kind <> 'site' AND updated_at < ${asOf}::timestamptz RETURNING ${columns}, deleted`);
  return [...sites, ...others]
    .filter((row) => !row.deleted)
    .map((row) => ({ ...row, deleted: true, before: { status: row.status, deleted: false } }));
}

/** Hash and count of the copy as `SnapshotService.GetSnapshotHash` defines them; deleted sites do not count. */
export async function copyHash(tx: Tx): Promise<{ sha256: string; count: number }> {
  const [row] = await tx.query<{ sha256: string; count: number }>(sql`
    SELECT encode(sha256(coalesce(string_agg(convert_to(concat_ws(' ', kind, id, version, status, deleted::int) || E'\n', 'UTF8'), ''::bytea
                                             ORDER BY kind COLLATE "C", id), ''::bytea)), 'hex') AS sha256,
           count(*) AS count
    FROM tenant WHERE NOT (kind = 'site' AND deleted)`);
  if (!row) throw new Error("PostgreSQL answered an aggregate without a row");
  return row;
}
