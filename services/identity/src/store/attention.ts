import { byIndexAlone, type Database, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { ofOrganization, visibleTo } from "@muster/service";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import type { ProviderRow } from "../rules/sso/provider.ts";
import { type FailedSignIns, providerErrors } from "../rules/sso/provider-health.ts";
import type { ApiKeyRow } from "./api-keys.ts";
import { directoryColumns } from "./directory/directories.ts";
import { failedThrough } from "./sso/attempts.ts";
import { ownerVisibleTo } from "./sso/providers.ts";

/** A caller, with or without a request. */
type Who = Pick<CallContext, "caller" | "meta">;

/** The tenant that owns a row is not deleted. */
const ownerKept = sql`
  NOT EXISTS (SELECT FROM tenant n WHERE n.kind = 'organization' AND n.id = t.org_id AND n.deleted)
  AND NOT EXISTS (SELECT FROM tenant n WHERE n.kind = 'partner' AND n.id = t.partner_id AND n.deleted)`;

const certificateEnd = sql`(
  SELECT max((c ->> 'notAfter')::timestamptz) FROM jsonb_array_elements(t.saml_certificates) c)`;

export type WatchedProvider = Pick<
  ProviderRow,
  | "id"
  | "org_id"
  | "partner_id"
  | "name"
  | "type"
  | "status"
  | "saml_certificates"
  | "saml_metadata_error"
  | "saml_metadata_at"
  | "updated_at"
> & { failed: FailedSignIns | null };

/**
 * Active providers that may be failing, or of which the last certificate ends until `until`, newest first, with their
 * failed sign-ins: rules/sso/provider-health.ts decides.
 */
export async function watchedProviders(
  tx: Tx,
  { caller }: Who,
  orgId: string | null,
  most: number,
  until: Date,
): Promise<WatchedProvider[]> {
  const newestFails = sql`(
    SELECT a.outcome = 'failure' AND a.reason = ANY (${[...providerErrors]}::text[]) FROM sso_attempts a
    WHERE a.provider_id = t.id ORDER BY a.created_at DESC, a.id DESC LIMIT 1)`;
  const [, rows] = await Promise.all([
    // Else all 50 sign-ins of each provider would be read and sorted for the newest (index sso_attempts_newest).
    byIndexAlone(tx),
    tx.query<Omit<WatchedProvider, "failed"> & FailedSignIns>(sql`
      WITH watched AS MATERIALIZED (
        SELECT t.id, t.org_id, t.partner_id, t.name, t.type, t.status, t.saml_certificates, t.saml_metadata_error,
               t.saml_metadata_at, t.created_at, t.updated_at
        FROM sso_providers t
        WHERE t.status = 'active' AND ${ownerVisibleTo(caller)} AND ${ofOrganization(orgId)} AND ${ownerKept}
          AND (t.saml_metadata_error IS NOT NULL OR ${certificateEnd} <= ${until} OR ${newestFails})
        ORDER BY t.created_at DESC, t.id DESC LIMIT ${most})
      SELECT w.*, f.* FROM watched w CROSS JOIN LATERAL ${failedThrough(sql`w.id`)} f
      ORDER BY w.created_at DESC, w.id DESC`),
  ]);
  return rows.map(({ count, since, reason, ...row }) => ({
    ...row,
    failed: count === 0 ? null : { count, since, reason },
  }));
}

/** Active directories that have no valid token, or of which at least half of the last requests were refused. */
export function failingDirectories(
  tx: Tx,
  { caller }: Who,
  orgId: string | null,
  most: number,
): Promise<DirectoryRow[]> {
  return tx.query<DirectoryRow>(sql`
    SELECT ${directoryColumns} FROM directories t JOIN directory_cycles y ON y.directory_id = t.id
    WHERE t.status = 'active' AND ${ownerVisibleTo(caller)} AND ${ofOrganization(orgId)} AND ${ownerKept}
      AND (y.refused * 2 >= y.requests OR NOT EXISTS (
        SELECT FROM directory_tokens k WHERE k.directory_id = t.id AND (k.expires_at IS NULL OR k.expires_at > now())))
    ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`);
}

/** How many providers there are, whatever their status. */
export async function countKeptProviders(db: Database, who: Who): Promise<number> {
  const [row] = await db.read<{ count: number }>(
    who,
    sql`SELECT count(*)::int AS count FROM sso_providers t WHERE ${ownerKept}`,
  );
  return row?.count ?? 0;
}

/** All directories, whatever their status. */
export const everyDirectory = (db: Database, who: Who): Promise<DirectoryRow[]> =>
  db.read<DirectoryRow>(who, sql`SELECT ${directoryColumns} FROM directories t WHERE ${ownerKept}`);

export type EndingKey = Pick<ApiKeyRow, "id" | "org_id" | "partner_id" | "name" | "created_at"> & { expires_at: Date };

/** Active API keys that end between two times, the next first (index api_keys_ending). */
export function endingApiKeys(
  tx: Tx,
  { caller }: Who,
  orgId: string | null,
  most: number,
  { from, to }: { from: Date; to: Date },
): Promise<EndingKey[]> {
  return tx.query<EndingKey>(sql`
    SELECT t.id, t.org_id, t.partner_id, t.name, t.created_at, t.expires_at FROM api_keys t
    WHERE t.status = 'active' AND t.expires_at > ${from} AND t.expires_at < ${to}
      AND ${visibleTo(caller)} AND ${ofOrganization(orgId)} AND ${ownerKept}
    ORDER BY t.expires_at, t.id LIMIT ${most}`);
}
