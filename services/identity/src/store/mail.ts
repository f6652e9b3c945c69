import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";

export type MailRow = { id: string; kind: string; lane: string; sealed: Buffer; attempts: number; expires_at: Date };

const system = { caller: systemCaller("identity") };

export async function insertMail(
  tx: Tx,
  mail: { id: string; kind: string; lane: string; sealed: Buffer; expiresAt: Date; now: Date },
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO mail (id, kind, lane, sealed, next_at, expires_at, created_at)
    VALUES (${mail.id}, ${mail.kind}, ${mail.lane}, ${mail.sealed}, ${mail.now}, ${mail.expiresAt}, ${mail.now})`);
}

/** Queues that a claim chooses from: those after `after` in their order, without `busy`; and how many of them. */
export type QueueChoice = { after: string; busy: readonly string[]; limit: number };

/**
 * Leases the oldest due mail of each chosen queue for `leaseMs`: unfinished ones become available to other replicas
 * then. Indexes mail_waiting, mail_lanes.
 */
export async function claimMail(
  db: Database,
  { after, busy, limit }: QueueChoice,
  leaseMs: number,
  now: Date,
): Promise<MailRow[]> {
  const until = new Date(now.getTime() + leaseMs);
  // Mostly there is none, and then nothing is written.
  const due = sql`SELECT id FROM mail WHERE state = 'waiting' AND next_at <= ${now} ORDER BY next_at LIMIT 1`;
  if ((await db.read(system, due)).length === 0) return [];
  return db.inOneBatch(system, (tx) =>
    // From queue to queue by the index, until there are enough: the number of mails that wait does not matter.
    tx.query<MailRow>(sql`
      WITH RECURSIVE queues AS (
        (SELECT lane FROM mail WHERE state = 'waiting' AND lane > ${after} ORDER BY lane LIMIT 1)
        UNION ALL
        SELECT (SELECT m.lane FROM mail m WHERE m.state = 'waiting' AND m.lane > q.lane ORDER BY m.lane LIMIT 1)
        FROM queues q WHERE q.lane IS NOT NULL
      ), due AS (
        SELECT oldest.id FROM queues q CROSS JOIN LATERAL (
          SELECT m.id FROM mail m WHERE m.state = 'waiting' AND m.lane = q.lane AND m.next_at <= ${now}
          ORDER BY m.next_at LIMIT 1 FOR UPDATE SKIP LOCKED) oldest
        WHERE q.lane <> ALL (${busy}::text[]) LIMIT ${limit}
      )
      UPDATE mail m SET attempts = m.attempts + 1, next_at = ${until}
      FROM due WHERE m.id = due.id RETURNING m.id, m.kind, m.lane, m.sealed, m.attempts, m.expires_at`),
  );
}

/** Records that it was sent; its content is deleted. */
export async function markSent(db: Database, { id, attempts }: MailRow, now: Date): Promise<void> {
  await db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      UPDATE mail SET state = 'sent', sealed = NULL, finished_at = ${now}, last_error = NULL
      WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`),
  );
}

export async function retryMail(db: Database, { id, attempts }: MailRow, error: string, at: Date): Promise<void> {
  await db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      UPDATE mail SET next_at = ${at}, last_error = ${error}
      WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`),
  );
}

/** Marks a mail as failed. Its content stays sealed, so that an operator can fix the cause and queue it again. */
export async function markDropped(db: Database, { id, attempts }: MailRow, error: string, now: Date): Promise<void> {
  await db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      UPDATE mail SET state = 'poison', finished_at = ${now}, last_error = ${error}
      WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`),
  );
}

/** Removes a processed row; false when another replica was faster. */
export async function deleteMail(tx: Tx, { id, attempts }: MailRow): Promise<boolean> {
  return (
    (await tx.execute(sql`DELETE FROM mail WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`)) === 1
  );
}

/** Removes mails that ended before `before`, and what waited past its time; their number. Index mail_finished. */
export async function removeOldMail(db: Database, before: Date, now: Date): Promise<number> {
  return db.tx(system, async (tx) => {
    const finished = await tx.execute(sql`DELETE FROM mail WHERE state <> 'waiting' AND finished_at < ${before}`);
    const late = await tx.execute(sql`
      UPDATE mail SET state = 'poison', finished_at = ${now}, sealed = NULL, last_error = 'expired before it could be sent'
      WHERE state = 'waiting' AND expires_at < ${now} AND next_at <= ${now}`);
    return finished + late;
  });
}

export async function mailCounts(db: Database): Promise<{ waiting: number; dropped: number }> {
  const [row] = await db.read<{ waiting: number; dropped: number }>(
    system,
    sql`SELECT count(*) FILTER (WHERE state = 'waiting')::int AS waiting,
               count(*) FILTER (WHERE state = 'poison')::int AS dropped FROM mail`,
  );
  return row ?? { waiting: 0, dropped: 0 };
}
