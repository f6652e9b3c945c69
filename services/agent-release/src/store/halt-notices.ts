import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import type { RolloutRow } from "./rollouts.ts";

export type HaltNotice = {
  id: string;
  rollout_id: string;
  /** Whose rollout it is; null: the platform's. */
  partner_id: string | null;
  line: string;
  created_at: Date;
};

const system = { caller: systemCaller("agent-release") };
const lineMax = 500;

/** Notes a halt in the transaction that halts; forgets those that nobody passed on for a week. */
export async function addHaltNotice(
  tx: Tx,
  { id: rolloutId, partner_id: partnerId }: Pick<RolloutRow, "id" | "partner_id">,
  line: string,
  now: Date,
): Promise<void> {
  await tx.execute(sql`DELETE FROM halt_notice WHERE created_at < ${now}::timestamptz - interval '7 days'`);
  const text = [...line].slice(0, lineMax).join("");
  await tx.execute(sql`
    INSERT INTO halt_notice (id, rollout_id, partner_id, line, created_at)
    VALUES (${uuidv7()}, ${rolloutId}, ${partnerId}::uuid, ${text}, ${now})`);
}

/** Notices that are due, the oldest first. */
export function dueHaltNotices(db: Database, most: number): Promise<HaltNotice[]> {
  return db.read<HaltNotice>(
    system,
    sql`SELECT id, rollout_id, partner_id, line, created_at FROM halt_notice WHERE next_at <= now() ORDER BY next_at, id LIMIT ${most}`,
  );
}

/** Identity has it. */
export async function removeHaltNotice(db: Database, id: string): Promise<void> {
  await db.tx(system, (tx) => tx.execute(sql`DELETE FROM halt_notice WHERE id = ${id}::uuid`));
}

export async function delayHaltNotice(db: Database, id: string, seconds: number): Promise<void> {
  await db.tx(system, (tx) =>
    tx.execute(sql`
      UPDATE halt_notice SET next_at = now() + ${seconds}::int * interval '1 second' WHERE id = ${id}::uuid`),
  );
}
