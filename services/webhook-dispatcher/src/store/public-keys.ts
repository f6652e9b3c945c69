import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

type Row = { signing_key_public: Buffer | null; previous_signing_key_public: Buffer | null };

/** The public keys that a webhook signs with at that time, the current one first; none of a webhook that is missing. */
export async function publicKeysOf(db: Database, webhookId: string, now: Date): Promise<Buffer[]> {
  const [row] = await db.read<Row>(
    { caller: systemCaller("webhook-dispatcher") },
    sql`SELECT signing_key_public,
               CASE WHEN previous_signing_key_until > ${now} THEN previous_signing_key_public END AS previous_signing_key_public
        FROM webhooks WHERE id = ${webhookId} AND deleted_at IS NULL AND stopped_at IS NULL`,
  );
  const keys = [row?.signing_key_public, row?.previous_signing_key_public];
  return keys.flatMap((key) => (key ? [key] : []));
}
