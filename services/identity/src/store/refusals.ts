import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";

/** Counts a refused change; true for the first of this actor and action in this minute. */
export async function countRefusal(tx: Tx, actorId: string, action: string, now: Date): Promise<boolean> {
  const minute = new Date(Math.floor(now.getTime() / 60_000) * 60_000);
  const [row] = await tx.query<{ refused: number }>(sql`
    INSERT INTO refusals AS r (actor_id, action, minute, refused) VALUES (${actorId}, ${action}, ${minute}, 1)
    ON CONFLICT (actor_id, action, minute) DO UPDATE SET refused = r.refused + 1 RETURNING refused`);
  return row?.refused === 1;
}

/** Removes counts older than an hour, up to `limit`; returns their number. Index refusals_age. */
export function removeOldRefusals(db: Database, limit: number, now: Date): Promise<number> {
  const old = new Date(now.getTime() - 3_600_000);
  return db.inOneBatch({ caller: systemCaller("identity") }, (tx) =>
    tx.execute(sql`
      DELETE FROM refusals WHERE (actor_id, action, minute) IN (
        SELECT actor_id, action, minute FROM refusals WHERE minute < ${old} ORDER BY minute LIMIT ${limit})`),
  );
}
