import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";

type Organization = { orgId: string; partnerId: string };

/** Of these ids, the ones that the organization has not had before; they are taken from then on. */
export async function takeIds(
  tx: Tx,
  { orgId, partnerId }: Organization,
  ids: readonly string[],
  at: Date,
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(sql`
    INSERT INTO appended_event (org_id, id, partner_id, accepted_at)
    SELECT ${orgId}, posted.id, ${partnerId}, ${at}
    FROM unnest(${[...ids]}::uuid[]) AS posted (id)
    WHERE NOT EXISTS (SELECT FROM audit_log l WHERE l.chain_id = ${orgId} AND l.id = posted.id)
    ORDER BY posted.id
    ON CONFLICT DO NOTHING
    RETURNING id`);
  return new Set(rows.map(({ id }) => id));
}

/** Counts rows of the day of `at` (UTC); resolves to how many the organization has on it. */
export async function countAppended(tx: Tx, { orgId, partnerId }: Organization, rows: number, at: Date) {
  const [counted] = await tx.query<{ rows: number }>(sql`
    INSERT INTO appended_rows (org_id, day, partner_id, rows)
    VALUES (${orgId}, ${at.toISOString().slice(0, 10)}::text::date, ${partnerId}, ${rows})
    ON CONFLICT (org_id, day) DO UPDATE SET rows = appended_rows.rows + excluded.rows
    RETURNING rows`);
  return counted?.rows ?? rows;
}

/** Hours after which the chain alone knows an id. */
const keptHours = 48;
const chunkRows = 5_000;

/** Removes what is no longer needed, in chunks; resolves to the number of events. */
export async function removeOldAppended(db: Database, now: Date): Promise<number> {
  const who = { caller: systemCaller("audit") };
  const before = new Date(now.getTime() - keptHours * 3_600_000);
  await db.tx(who, (tx) =>
    tx.execute(sql`DELETE FROM appended_rows WHERE day < ${before.toISOString().slice(0, 10)}::text::date`),
  );
  for (let removed = 0; ; ) {
    // A row that is not sealed yet must still be recognised.
    const rows = await db.tx(who, (tx) =>
      tx.execute(sql`
        DELETE FROM appended_event WHERE (org_id, id) IN (
          SELECT org_id, id FROM appended_event a WHERE a.accepted_at < ${before}
            AND EXISTS (SELECT FROM audit_log l WHERE l.chain_id = a.org_id AND l.id = a.id)
          LIMIT ${chunkRows} FOR UPDATE SKIP LOCKED)`),
    );
    removed += rows;
    if (rows < chunkRows) return removed;
  }
}
