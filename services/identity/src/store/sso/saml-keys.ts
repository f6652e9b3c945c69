import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { providerColumns, written } from "./providers.ts";

const system = { caller: systemCaller("identity") };

/** A key of ours for a provider, sealed for its column, and its certificate as PEM. */
export type SealedKey = { sealed: Buffer; certificate: string };

/** Puts the next key beside the present one, which it replaces at `at`. */
export async function offerKey(tx: Tx, id: string, key: SealedKey, at: Date, now: Date): Promise<ProviderRow> {
  const [row] = await tx.query<ProviderRow>(sql`
    UPDATE sso_providers t SET saml_next_key_sealed = ${key.sealed}, saml_next_certificate = ${key.certificate},
      saml_next_key_at = ${at}, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${providerColumns}`);
  return written(row);
}

/** Moves the time at which the next key replaces the present one. */
export async function moveNextKey(tx: Tx, id: string, at: Date, now: Date): Promise<ProviderRow> {
  const [row] = await tx.query<ProviderRow>(sql`
    UPDATE sso_providers t SET saml_next_key_at = ${at}, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${providerColumns}`);
  return written(row);
}

/** Replaces the present key; none is next then. Moves the generation on where login flows in flight shall end. */
export async function replaceKey(
  tx: Tx,
  id: string,
  key: SealedKey,
  { endsLoginFlows, now }: { endsLoginFlows: boolean; now: Date },
): Promise<ProviderRow> {
  const [row] = await tx.query<ProviderRow>(sql`
    UPDATE sso_providers t SET saml_key_sealed = ${key.sealed}, saml_sp_certificate = ${key.certificate},
      saml_next_key_sealed = NULL, saml_next_certificate = NULL, saml_next_key_at = NULL,
      generation = generation + ${endsLoginFlows ? 1 : 0}, updated_at = ${now}
    WHERE t.id = ${id} RETURNING ${providerColumns}`);
  return written(row);
}

/** Ids of providers whose next key is due, those that wait longest first. */
export async function dueKeys(db: Database, now: Date, limit: number): Promise<string[]> {
  const rows = await db.read<{ id: string }>(
    system,
    sql`SELECT id FROM sso_providers WHERE saml_next_key_at <= ${now} ORDER BY saml_next_key_at, id LIMIT ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/** A provider whose next key is due, locked until the end of the transaction; null when it is no longer. */
export async function lockDueKey(tx: Tx, id: string, now: Date): Promise<ProviderRow | null> {
  const [row] = await tx.query<ProviderRow>(sql`
    SELECT ${providerColumns} FROM sso_providers t
    WHERE t.id = ${id} AND t.saml_next_key_at <= ${now} FOR UPDATE OF t`);
  return row ?? null;
}
