import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";

/** A line for mails of these users. */
export type HealthNotice = {
  id: string;
  webhook_id: string;
  org_id: string;
  partner_id: string;
  user_ids: string[];
  line: string;
  created_at: Date;
};

const system = { caller: systemCaller("webhook-dispatcher") };

export async function addHealthNotice(tx: Tx, notice: HealthNotice): Promise<void> {
  await tx.execute(sql`
    INSERT INTO webhook_health_notices (id, webhook_id, org_id, partner_id, user_ids, line, created_at)
    VALUES (${notice.id}, ${notice.webhook_id}, ${notice.org_id}, ${notice.partner_id}, ${notice.user_ids}::uuid[],
            ${notice.line}, ${notice.created_at})`);
}

/** Notices that are due, the oldest first (index webhook_health_notices_due). */
export function dueHealthNotices(db: Database, most: number): Promise<HealthNotice[]> {
  return db.read<HealthNotice>(
    system,
    sql`SELECT id, webhook_id, org_id, partner_id, user_ids, line, created_at FROM webhook_health_notices
        WHERE next_at <= now() ORDER BY next_at, id LIMIT ${most}`,
  );
}

/** Identity has it, or nobody will. */
export async function removeHealthNotice(db: Database, id: string): Promise<void> {
  await db.tx(system, (tx) => tx.execute(sql`DELETE FROM webhook_health_notices WHERE id = ${id}::uuid`));
}

export async function delayHealthNotice(db: Database, id: string, seconds: number): Promise<void> {
  await db.tx(system, (tx) =>
    tx.execute(sql`
      UPDATE webhook_health_notices SET next_at = now() + ${seconds}::int * interval '1 second' WHERE id = ${id}::uuid`),
  );
}

/** Forgets notices that nobody passed on for a day: they say nothing new. */
export async function removeOldHealthNotices(tx: Tx, now: Date): Promise<void> {
  await tx.execute(sql`DELETE FROM webhook_health_notices WHERE created_at < ${now}::timestamptz - interval '1 day'`);
}
