import { byIndexAlone, type Database, type Query, sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { visibleTo } from "@muster/service";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import type { ProviderRow } from "../rules/sso/provider.ts";
import { providerErrors } from "../rules/sso/provider-health.ts";
import type { ApiKeyRow } from "./api-keys.ts";
import { directoryColumns } from "./directory/directories.ts";
import { ownerVisibleTo } from "./sso/providers.ts";

/** A caller, with or without a request. */
type Who = Pick<CallContext, "caller" | "meta">;

const ofOrganization = (orgId: string | null): Query => sql`(${orgId}::uuid IS NULL OR t.org_id = ${orgId}::uuid)`;

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
>;

const providers = (who: Who, orgId: string | null, where: Query, most: number): Query => sql`
  SELECT t.id, t.org_id, t.partner_id, t.name, t.type, t.status, t.saml_certificates, t.saml_metadata_error,
         t.saml_metadata_at, t.updated_at
  FROM sso_providers t
  WHERE t.status = 'active' AND ${ownerVisibleTo(who.caller)} AND ${ofOrganization(orgId)} AND ${ownerKept} AND ${where}
  ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`;

/** Active providers that may be failing: rules/sso/provider-health.ts decides. */
export async function doubtfulProviders(
  db: Database,
  who: Who,
  orgId: string | null,
  most: number,
  now: Date,
): Promise<WatchedProvider[]> {
  const newestFails = sql`(
    SELECT a.outcome = 'failure' AND a.reason = ANY (${[...providerErrors]}::text[]) FROM sso_attempts a
    WHERE a.provider_id = t.id ORDER BY a.created_at DESC, a.id DESC LIMIT 1)`;
  const where = sql`(t.saml_metadata_error IS NOT NULL OR ${certificateEnd} <= ${now} OR ${newestFails})`;
  const read = async (tx: Tx) => {
    // Else all 50 sign-ins of each provider would be read and sorted for the newest (index sso_attempts_newest).
    await byIndexAlone(tx);
    return tx.query<WatchedProvider>(providers(who, orgId, where, most));
  };
  return db.tx(who, read, { readOnly: true });
}

/** Active providers of which the last certificate ends between two times. */
export function endingCertificates(
  db: Database,
  who: CallContext,
  orgId: string | null,
  most: number,
  { from, to }: { from: Date; to: Date },
): Promise<WatchedProvider[]> {
  const where = sql`t.type = 'saml' AND ${certificateEnd} > ${from} AND ${certificateEnd} < ${to}`;
  return db.read<WatchedProvider>(who, providers(who, orgId, where, most));
}

/** Active directories that have no valid token, or of which at least half of the last requests were refused. */
export function failingDirectories(
  db: Database,
  who: CallContext,
  orgId: string | null,
  most: number,
): Promise<DirectoryRow[]> {
  return db.read<DirectoryRow>(
    who,
    sql`SELECT ${directoryColumns} FROM directories t JOIN directory_cycles y ON y.directory_id = t.id
        WHERE t.status = 'active' AND ${ownerVisibleTo(who.caller)} AND ${ofOrganization(orgId)} AND ${ownerKept}
          AND (y.refused * 2 >= y.requests OR NOT EXISTS (
            SELECT FROM directory_tokens k WHERE k.directory_id = t.id AND (k.expires_at IS NULL OR k.expires_at > now())))
        ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`,
  );
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
  db: Database,
  who: CallContext,
  orgId: string | null,
  most: number,
  { from, to }: { from: Date; to: Date },
): Promise<EndingKey[]> {
  return db.read<EndingKey>(
    who,
    sql`SELECT t.id, t.org_id, t.partner_id, t.name, t.created_at, t.expires_at FROM api_keys t
        WHERE t.status = 'active' AND t.expires_at > ${from} AND t.expires_at < ${to}
          AND ${visibleTo(who.caller)} AND ${ofOrganization(orgId)} AND ${ownerKept}
        ORDER BY t.expires_at, t.id LIMIT ${most}`,
  );
}
