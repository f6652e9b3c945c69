import { type Database, type Query, sql, type Tx } from "@muster/db";
import { type CallContext, type Caller, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { ProviderType } from "../../rules/sso/presets.ts";
import type { Owner, ProviderRow } from "../../rules/sso/provider.ts";

export const providerColumns = sql`t.id, t.partner_id, t.org_id, t.name, t.type, t.status, t.preset, t.issuer, t.client_id,
  t.client_secret_sealed, t.scopes, t.attribute_mapping, t.auto_provision, t.default_role_id, t.default_role_by,
  t.allowed_domains, t.enforce_sso, t.proven_at, t.trust_idp_mfa, t.authorization_url, t.token_url, t.user_info_url,
  t.jwks_url, t.discovered, t.saml_entity_id, t.saml_sso_url, t.saml_certificates, t.saml_metadata_url,
  t.saml_metadata_at, t.saml_metadata_error, t.saml_metadata_omitted, t.saml_want_encrypted, t.subject_attribute, t.saml_sign_requests,
  t.saml_key_sealed, t.saml_sp_certificate, t.saml_next_key_sealed, t.saml_next_certificate, t.saml_next_key_at, t.generation, t.created_by, t.created_at, t.updated_at`;

const system = { caller: systemCaller("identity") };

/**
 * The query's own check, beside row-level security, that the caller sees the organization or partner that owns the row.
 */
export function ownerVisibleTo(caller: Caller): Query {
  if (caller.scope === "system") return sql`true`;
  if (caller.scope === "organization") return sql`t.org_id = ${caller.orgId}`;
  if (caller.orgAccess.mode === "all") return sql`t.partner_id = ${caller.partnerId}`;
  return sql`t.partner_id = ${caller.partnerId}
    AND (t.org_id IS NULL OR t.org_id = ANY (${[...caller.orgAccess.orgIds]}::uuid[]))`;
}

/** Columns that people set, with their values. */
export type ProviderValues = Omit<
  ProviderRow,
  | "id"
  | "partner_id"
  | "org_id"
  | "type"
  | "status"
  | "saml_next_key_sealed"
  | "saml_next_certificate"
  | "saml_next_key_at"
  | "generation"
  | "created_by"
  | "created_at"
  | "updated_at"
>;

export async function insertProvider(
  tx: Tx,
  id: string,
  owner: Owner,
  type: ProviderType,
  values: ProviderValues,
  createdBy: string,
  now: Date,
): Promise<ProviderRow> {
  await tx.execute(sql`
    INSERT INTO sso_providers (id, partner_id, org_id, name, type, scopes, created_by, created_at, updated_at)
    VALUES (${id}, ${owner.partnerId}, ${owner.orgId}, ${values.name}, ${type}, ${values.scopes}, ${createdBy}, ${now}, ${now})`);
  return writeProvider(tx, id, values, now);
}

/** Writes every column that people set, and moves the generation on: sign-ins in flight end at their callback. */
export async function writeProvider(tx: Tx, id: string, v: ProviderValues, now: Date): Promise<ProviderRow> {
  const [row] = await tx.query<ProviderRow>(sql`
    UPDATE sso_providers t SET name = ${v.name}, preset = ${v.preset}, issuer = ${v.issuer}, client_id = ${v.client_id},
      client_secret_sealed = ${v.client_secret_sealed}, scopes = ${v.scopes},
      attribute_mapping = ${json(v.attribute_mapping)}::jsonb, auto_provision = ${v.auto_provision},
      default_role_id = ${v.default_role_id}, default_role_by = ${v.default_role_by},
      allowed_domains = ${[...v.allowed_domains]}::text[], enforce_sso = ${v.enforce_sso}, proven_at = ${v.proven_at},
      trust_idp_mfa = ${v.trust_idp_mfa}, authorization_url = ${v.authorization_url}, token_url = ${v.token_url},
      user_info_url = ${v.user_info_url}, jwks_url = ${v.jwks_url}, discovered = ${json(v.discovered)}::jsonb,
      saml_entity_id = ${v.saml_entity_id}, saml_sso_url = ${v.saml_sso_url},
      saml_certificates = ${json(v.saml_certificates)}::jsonb, saml_metadata_url = ${v.saml_metadata_url},
      saml_metadata_at = ${v.saml_metadata_at}, saml_metadata_error = ${v.saml_metadata_error},
      saml_metadata_omitted = ${[...v.saml_metadata_omitted]}::text[],
      saml_want_encrypted = ${v.saml_want_encrypted}, subject_attribute = ${v.subject_attribute},
      saml_sign_requests = ${v.saml_sign_requests},
      saml_warned_days = NULL,
      saml_key_sealed = ${v.saml_key_sealed}, saml_sp_certificate = ${v.saml_sp_certificate},
      generation = generation + 1, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${providerColumns}`);
  return written(row);
}

export async function setProviderStatus(tx: Tx, id: string, status: string, now: Date): Promise<ProviderRow> {
  const [row] = await tx.query<ProviderRow>(sql`
    UPDATE sso_providers t SET status = ${status}, generation = generation + 1, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${providerColumns}`);
  return written(row);
}

export async function deleteProvider(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM sso_providers WHERE id = ${id}`);
}

/** One provider, or null when missing or not visible to the caller. */
export async function findProvider(db: Database, who: CallContext, id: string): Promise<ProviderRow | null> {
  const [row] = await db.read<ProviderRow>(
    who,
    sql`SELECT ${providerColumns} FROM sso_providers t WHERE t.id = ${id} AND ${ownerVisibleTo(who.caller)}`,
  );
  return row ?? null;
}

/** That provider locked until the end of the transaction. */
export async function lockProvider(tx: Tx, caller: Caller, id: string): Promise<ProviderRow | null> {
  const [row] = await tx.query<ProviderRow>(
    sql`SELECT ${providerColumns} FROM sso_providers t WHERE t.id = ${id} AND ${ownerVisibleTo(caller)} FOR UPDATE OF t`,
  );
  return row ?? null;
}

export function listProviders(
  db: Database,
  who: CallContext,
  { orgId, ofPartner }: { orgId: string | null; ofPartner: boolean | null },
  page: Page,
): Promise<ListPage<ProviderRow>> {
  const byOrg = orgId === null ? sql`true` : sql`t.org_id = ${orgId}`;
  const byOwner = ofPartner === null ? sql`true` : ofPartner ? sql`t.org_id IS NULL` : sql`t.org_id IS NOT NULL`;
  const list = {
    table: sql`sso_providers`,
    columns: providerColumns,
    where: sql`${byOrg} AND ${byOwner}`,
    visible: ownerVisibleTo(who.caller),
  };
  return readNewestPage<ProviderRow>(db, who, list, page);
}

export async function countProviders(tx: Tx, { partnerId, orgId }: Owner): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*)::int AS n FROM sso_providers
    WHERE partner_id = ${partnerId} AND org_id IS NOT DISTINCT FROM ${orgId}::uuid`);
  return row?.n ?? 0;
}

/** A tenant whose users can sign in at all. */
const notEnded = (kind: "partner" | "organization", id: Query) => sql`
  EXISTS (SELECT FROM tenant n WHERE n.kind = ${kind} AND n.id = ${id} AND NOT n.deleted AND n.status <> 'churned')`;
const ownerNotEnded = sql`${notEnded("partner", sql`t.partner_id`)}
  AND (t.org_id IS NULL OR ${notEnded("organization", sql`t.org_id`)})`;

/** Target of a sign-in: an organization, or a partner's own users. */
export type SignInTenant = { orgId: string } | { partnerId: string };

/** The provider that a tenant signs in through: active, of several the oldest; none when the tenant has ended. */
const activeOf = (tenant: SignInTenant) => {
  const where =
    "orgId" in tenant ? sql`t.org_id = ${tenant.orgId}` : sql`t.partner_id = ${tenant.partnerId} AND t.org_id IS NULL`;
  return sql`FROM sso_providers t WHERE ${where} AND t.status = 'active' AND ${ownerNotEnded}
    ORDER BY t.created_at, t.id LIMIT 1`;
};

export async function findActiveProvider(db: Database, tenant: SignInTenant): Promise<ProviderRow | null> {
  const [row] = await db.read<ProviderRow>(system, sql`SELECT ${providerColumns} ${activeOf(tenant)}`);
  return row ?? null;
}

/**
 * Public facts of the provider that a tenant signs in through; `enforced` when enforcement of one of its providers is
 * in force.
 */
export type SignInProvider = { id: string; name: string; type: ProviderType; enforced: boolean };

export async function findSignInProvider(db: Database, tenant: SignInTenant): Promise<SignInProvider | null> {
  const [row] = await db.read<SignInProvider>(
    system,
    sql`SELECT t.id, t.name, t.type, EXISTS (
          SELECT FROM sso_providers e WHERE e.partner_id = t.partner_id AND e.org_id IS NOT DISTINCT FROM t.org_id
            AND e.status = 'active' AND e.enforce_sso AND e.proven_at IS NOT NULL) AS enforced
        ${activeOf(tenant)}`,
  );
  return row ?? null;
}

/** Whether any provider signs in users by SAML. */
export async function hasSamlProvider(db: Database): Promise<boolean> {
  return (await db.read(system, sql`SELECT FROM sso_providers t WHERE t.type = 'saml' LIMIT 1`)).length > 0;
}

/** A provider whatever its state, for login flows in flight. */
export async function readProvider(db: Database, id: string): Promise<ProviderRow | null> {
  const [row] = await db.read<ProviderRow>(
    system,
    sql`SELECT ${providerColumns} FROM sso_providers t WHERE t.id = ${id}`,
  );
  return row ?? null;
}

/**
 * The provider as of a generation and in one of these states, held so until the transaction ends; null when it moved
 * on.
 */
export async function holdProvider(
  tx: Tx,
  { id, generation }: { id: string; generation: number },
  statuses: readonly string[],
): Promise<ProviderRow | null> {
  const [row] = await tx.query<ProviderRow>(sql`
    SELECT ${providerColumns} FROM sso_providers t
    WHERE t.id = ${id} AND t.generation = ${generation} AND t.status = ANY (${[...statuses]}::text[]) FOR SHARE OF t`);
  return row ?? null;
}

/** From now on what the provider enforces is in force. False when it was so already, or the provider moved on. */
export async function proveProvider(tx: Tx, { id, generation }: ProviderRow, now: Date): Promise<boolean> {
  const proven = await tx.execute(sql`
    UPDATE sso_providers SET proven_at = ${now} WHERE id = ${id} AND generation = ${generation} AND proven_at IS NULL`);
  return proven === 1;
}

/** Providers of a user's tenant that they may link their account to, oldest first. */
export function listLinkable(
  db: Database,
  { partnerId, orgId }: Owner,
  statuses: readonly string[],
  userId: string,
): Promise<(Pick<ProviderRow, "id" | "name" | "type"> & { linked: boolean })[]> {
  return db.read(
    system,
    sql`SELECT t.id, t.name, t.type,
               EXISTS (SELECT FROM sso_identities i WHERE i.provider_id = t.id AND i.user_id = ${userId}) AS linked
        FROM sso_providers t
        WHERE t.partner_id = ${partnerId} AND t.org_id IS NOT DISTINCT FROM ${orgId}::uuid
          AND t.status = ANY (${[...statuses]}::text[])
        ORDER BY t.created_at, t.id`,
  );
}

const json = (value: unknown) => (value === null ? null : JSON.stringify(value));

export function written(row: ProviderRow | undefined): ProviderRow {
  if (row === undefined) throw new Error("a provider that was locked has gone");
  return row;
}
