import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ProviderRow, StoredCertificate } from "../../rules/sso/provider.ts";

const system = { caller: systemCaller("identity") };
const columns = sql`t.id, t.partner_id, t.org_id, t.name, t.generation, t.saml_entity_id, t.saml_metadata_url,
  t.saml_certificates`;

/**
 * Providers whose metadata is due: not read since `before`, or since `retryBefore` when the last try failed; the
 * longest waiting first, and a few per partner, so that one partner's unresponsive hosts do not delay the others.
 */
export function staleMetadata(
  db: Database,
  { before, retryBefore }: { before: Date; retryBefore: Date },
  { batch, perPartner }: { batch: number; perPartner: number },
): Promise<ProviderRow[]> {
  return db.read<ProviderRow>(
    system,
    sql`SELECT ${columns} FROM sso_providers t JOIN (
          SELECT s.id, row_number() OVER (PARTITION BY s.partner_id ORDER BY s.saml_metadata_at, s.id) AS turn
          FROM sso_providers s
          WHERE s.saml_metadata_url IS NOT NULL AND s.status <> 'inactive'
            AND (s.saml_metadata_at < ${before} OR (s.saml_metadata_error IS NOT NULL AND s.saml_metadata_at < ${retryBefore}))
        ) due ON due.id = t.id
        WHERE due.turn <= ${perPartner} ORDER BY t.saml_metadata_at, t.id LIMIT ${batch}`,
  );
}

/** The certificates of a provider, locked until the end of the transaction; null when people changed it meanwhile. */
export async function lockCertificates(
  tx: Tx,
  { id, generation }: Pick<ProviderRow, "id" | "generation">,
): Promise<StoredCertificate[] | null> {
  const [row] = await tx.query<Pick<ProviderRow, "saml_certificates">>(sql`
    SELECT saml_certificates FROM sso_providers WHERE id = ${id} AND generation = ${generation} FOR UPDATE`);
  return row?.saml_certificates ?? null;
}

/**
 * What a read of the metadata found, or why it failed; `isChanged` when the certificates are others now, `hasEnded`
 * when one of them counts no more.
 */
export type MetadataOutcome = {
  found: { certificates: StoredCertificate[]; omitted: string[] } | null;
  error: string | null;
  isChanged?: boolean;
  hasEnded?: boolean;
};

/**
 * Stores the outcome of a metadata read; the end of a certificate moves the generation on. Nothing is written when
 * people changed the provider meanwhile.
 */
export async function noteMetadata(
  tx: Tx,
  { id, generation }: Pick<ProviderRow, "id" | "generation">,
  { found, error, isChanged = false, hasEnded = false }: MetadataOutcome,
  now: Date,
): Promise<void> {
  const kept = found === null ? null : JSON.stringify(found.certificates);
  await tx.execute(sql`
    UPDATE sso_providers SET saml_metadata_at = ${now}, saml_metadata_error = ${error},
      saml_certificates = coalesce(${kept}::jsonb, saml_certificates),
      saml_metadata_omitted = coalesce(${found?.omitted ?? null}::text[], saml_metadata_omitted),
      saml_warned_days = CASE WHEN ${isChanged} THEN NULL ELSE saml_warned_days END,
      generation = generation + ${hasEnded ? 1 : 0}
    WHERE id = ${id} AND generation = ${generation}`);
}

/** Active SAML providers whose last certificate ends before then. */
export function expiringProviders(db: Database, before: Date): Promise<ProviderRow[]> {
  return db.read<ProviderRow>(
    system,
    sql`SELECT ${columns} FROM sso_providers t
        WHERE t.type = 'saml' AND t.status = 'active'
          AND (SELECT max((c ->> 'notAfter')::timestamptz) FROM jsonb_array_elements(t.saml_certificates) c) < ${before}
        ORDER BY t.id LIMIT 1000`,
  );
}

/** False when this warning, or a nearer one, was already sent. */
export async function noteWarning(tx: Tx, id: string, days: number): Promise<boolean> {
  const noted = await tx.execute(sql`
    UPDATE sso_providers SET saml_warned_days = ${days}
    WHERE id = ${id} AND (saml_warned_days IS NULL OR saml_warned_days > ${days})`);
  return noted === 1;
}
